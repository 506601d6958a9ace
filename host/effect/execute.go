package effect

import (
	"context"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Execute passes one call through the eight steps and returns how it ended. It never returns an error: what cannot be
// done is a status. It blocks for at most the approval's answer time and the effect's timeout; when ctx ends, the
// result is persisted first and is Cancelled only if the adapter confirmed its cleanup.
func (r *Runtime) Execute(ctx context.Context, req Request, turn binding.Turn) Result {
	p := r.begin(req, turn)
	defer p.letGo()
	p.reader = r.reader()
	defer r.done(p.reader)
	for _, step := range steps() {
		before := p.now
		p.worked = false
		v := step.do(r, ctx, p)
		if p.worked {
			p.now = r.clock()
		}
		p.stage(step.name, v, p.now.Sub(before))
		if v.stops() {
			p.end = v
			break
		}
	}
	return r.end(ctx, p)
}

// step is one of the first seven. What only looks something up leaves passage.worked alone and counts as no time: to
// read the clock would take longer.
type step struct {
	name string
	do   func(*Runtime, context.Context, *passage) verdict
}

func steps() [stages - 1]step {
	return [...]step{
		{"request", (*Runtime).checkRequest},
		{"scope", (*Runtime).checkScope},
		{"capability", (*Runtime).checkCapability},
		{"host checks", (*Runtime).checkHost},
		{"approval", (*Runtime).approve},
		{"secrets", (*Runtime).bindSecrets},
		{"run", (*Runtime).invoke},
	}
}

// end is step 8 and the result.
func (r *Runtime) end(ctx context.Context, p *passage) Result {
	v := r.record(ctx, p)
	now := r.clock()
	p.stage("record", v, now.Sub(p.now))
	p.result.Duration = now.Sub(p.began)
	r.pass(p)
	return p.result
}

// pass hands on what the plugin logged. All that the call gave away is known by now.
func (r *Runtime) pass(p *passage) {
	if r.log == nil || len(p.outcome.Logs) == 0 {
		return
	}
	set := p.set()
	for _, rec := range p.outcome.Logs {
		shown := wire.LogRecord{Level: rec.Level, Message: set.Text(redact.ForOperator, rec.Message)}
		for _, a := range rec.Attrs {
			key := set.Text(redact.ForOperator, a.Key)
			shown.Attrs = append(shown.Attrs, wire.Attr{Key: key, Value: set.Named(redact.ForOperator, a.Key, a.Value)})
		}
		r.log(LogLine{p.req.ID, p.result.Tool, p.result.Plugin, shown})
	}
}

// Unknown records a call of a tool that the turn's catalog does not have.
func (r *Runtime) Unknown(ctx context.Context, req Request, name string, turn binding.Turn) Result {
	p := r.begin(req, turn)
	p.result.Tool = p.set().Short(redact.ForEvent, name, 64) // a name that a model made up may be anything
	p.end = verdict{
		status: NotFound, reason: "tool_not_found",
		why: fmt.Sprintf("there is no tool %q in this turn: `portcullis plugin list` shows what is installed", p.result.Tool), model: "there is no such tool",
	}
	p.now = r.clock()
	p.stage("request", p.end, p.now.Sub(p.began))
	return r.end(ctx, p)
}

// verdict is what one step says. The zero verdict lets the effect pass.
type verdict struct {
	status Status // empty: pass
	reason string
	why    string // for the operator
	model  string // for the model: no command, no path, no name of what others own
	remedy string // the command of why, alone
}

func (v verdict) stops() bool { return v.status != "" }

func pass(why string) verdict { return verdict{why: why} }

// passage is one effect on its way through the gate.
type passage struct {
	req     Request
	turn    binding.Turn
	catalog *Catalog
	entry   *entry
	reader  *document.Reader // of all that is read; nil keeps nothing
	args    Arguments
	shown   redact.Views // of the arguments: for the operator who is asked, and the durable one
	policy  *ruling
	needs   []capability.Name   // of this call
	granted capability.Snapshot // what the call goes by of what the operator granted the plugin
	secrets Bound
	planned *Plan        // what the adapter would run; nil when it does not plan
	plan    redact.Views // the same for whoever is asked
	digest  string       // digest of the arguments and the plan: what is approved
	outcome Outcome
	answer  document.Document // the outcome's result, once it was found to be strict
	end     verdict
	began   time.Time
	now     time.Time // when the clock was read last, which is after every step that takes time
	worked  bool      // the step that runs has taken time
	number  int
	result  Result
}

func (r *Runtime) begin(req Request, turn binding.Turn) *passage {
	p := &passage{req: req, turn: turn, catalog: req.Catalog, began: r.clock()}
	p.now = p.began
	if req.Ref.catalog != nil {
		p.catalog, p.entry = req.Ref.catalog, req.Ref.entry
	}
	if p.req.ID == "" {
		p.req.ID = r.ids.Effect()
	}
	p.result = Result{ID: p.req.ID, Stages: make([]Stage, 0, stages)}
	if req.CallID != "" {
		p.result.CallID = p.set().Short(redact.ForModel, req.CallID, 128)
	}
	if p.entry != nil {
		p.result.Tool, p.result.Plugin = p.entry.tool.Name, p.entry.label
	}
	return p
}

// set is what the turn hides, as it stands.
func (p *passage) set() redact.Set {
	if p.catalog == nil {
		return redact.Set{}
	}
	return p.catalog.Redactor()
}

// stages is how many there are.
const stages = 8

func (p *passage) stage(name string, v verdict, took time.Duration) {
	p.number++
	if name == "record" {
		p.number = stages
	}
	s := Stage{
		Effect: p.req.ID, Tool: p.result.Tool, Number: p.number, Name: name, Verdict: "pass", Why: v.why, Took: took,
	}
	if v.stops() { // what passes is said in the host's words alone
		s.Verdict, s.Why = string(v.status), p.set().Short(redact.ForOperator, v.why, maxWords)
	}
	p.result.Stages = append(p.result.Stages, s)
	if p.req.Observe != nil {
		p.req.Observe(s)
	}
}
