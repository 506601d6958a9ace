package effect

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Planner is an [Adapter] whose calls touch more than their arguments say: a program that is looked up, a file whose
// content decides what happens. The gate asks it before anybody else and holds the call to the answer.
type Planner interface {
	Adapter
	// Plan states what call would run, and changes nothing: it may look files up and read them. It is asked at the host
	// checks of every call, and once more when a person has answered, because what it names may have changed in between;
	// equal circumstances must give equal plans. An Objection denies the call. Ctx ends after 10 s.
	//
	// The plan that passed last is the call's [Call.Plan]. Invoke must hold it against the world once more at the moment
	// of use, through what it holds open, and answer Denied with [ReasonOperandChanged] when it is no longer so.
	Plan(ctx context.Context, call Call) (Plan, Objection)
}

// Plan is everything of one call that its arguments do not fix. All of it but Held is shown to whoever is asked, and is
// part of the digest that is approved. Texts must be valid UTF-8; there are at most [MaxPlanItems] of each kind.
type Plan struct {
	Argv     []string  // the program as it would be told to run, word for word
	Dir      string    // where, absolute
	Env      []string  // names of variables that the call sets; those that every call gets are left out
	Operands []Operand // the resolved executable and files
	Notes    []string  // what whoever is asked should know, one sentence each: why it cannot be remembered, what is not seen
	// RuleKey says, in words that a person can read, what an allowance for the session covers of this tool. Empty covers
	// exactly this plan with these arguments. It is shown.
	RuleKey string
	// Cacheable says that an allowance for the session may be offered at all. A plan that runs a shell, an interpreter
	// or a wrapper of other commands has none.
	Cacheable bool
	// Held is what the plan keeps open for Invoke. The gate closes it when the effect is over, whatever became of it.
	Held io.Closer
}

// Operand is one file that a call uses.
type Operand struct {
	Role   string `json:"role"`   // "executable", "script", "input", "target"
	Path   string `json:"path"`   // absolute, symbolic links resolved
	SHA256 string `json:"sha256"` // of the content in lower-case hex, or [Absent]
}

// Absent stands for the digest of a file that is not there.
const Absent = "absent"

// Objection is why a planner will not have a call run. The zero Objection is none.
type Objection struct {
	Reason string // stable code
	Why    string // for the operator
	Model  string // for the model: no command, no path
	Remedy string // what to type, or empty
}

// Reasons of a call that is held to its plan.
const (
	ReasonOperandChanged = "operand_changed" // what was approved is not what is there now
	ReasonPlanInvalid    = "plan_invalid"    // a planner broke the rules of its port
)

// Bounds of a plan.
const (
	MaxPlanItems = 256
	planTime     = 10 * time.Second
)

// Digest is the sha256, in lower-case hex, over the plan and the digest of the canonical arguments: what a person
// approves. Each text has its length before it and each list its count, so that no two plans read alike.
func (p Plan) Digest(arguments string) string {
	h := sha256.New()
	count := func(n int) { h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	text := func(s string) { count(len(s)); h.Write([]byte(s)) }
	list := func(all []string) {
		count(len(all))
		for _, s := range all {
			text(s)
		}
	}
	text(arguments)
	list(p.Argv)
	text(p.Dir)
	list(p.Env)
	count(len(p.Operands))
	for _, o := range p.Operands {
		text(o.Role)
		text(o.Path)
		text(o.SHA256)
	}
	list(p.Notes)
	text(p.RuleKey)
	return hex.EncodeToString(h.Sum(nil))
}

// fault says what is wrong with a plan's form, or nothing.
func (p Plan) fault() string {
	switch {
	case len(p.Argv) > MaxPlanItems || len(p.Env) > MaxPlanItems || len(p.Operands) > MaxPlanItems || len(p.Notes) > MaxPlanItems:
		return fmt.Sprintf("lists more than %d things", MaxPlanItems)
	case len(p.Argv) == 0 && len(p.Operands) == 0:
		return "names nothing"
	case p.Dir != "" && !filepath.IsAbs(p.Dir):
		return "has a folder that is not absolute"
	case !utf8.ValidString(p.Dir + p.RuleKey + strings.Join(p.Argv, "") + strings.Join(p.Env, "") + strings.Join(p.Notes, "")):
		return "has a text that is not UTF-8"
	}
	for _, o := range p.Operands {
		if raw, err := hex.DecodeString(o.SHA256); o.SHA256 != Absent && (err != nil || len(raw) != sha256.Size) {
			return fmt.Sprintf("has an operand %q without a digest", o.Role)
		}
		if !utf8.ValidString(o.Role + o.Path) {
			return "has an operand whose name is not UTF-8"
		}
		if o.Role == "" || !filepath.IsAbs(o.Path) || filepath.Clean(o.Path) != o.Path {
			return fmt.Sprintf("has an operand %q whose path is not absolute and clean", o.Role)
		}
	}
	return ""
}

// shown is the plan as a document for whoever is asked.
func (p Plan) shown() json.RawMessage {
	raw, err := json.Marshal(struct {
		Argv     []string  `json:"argv,omitempty"`
		Dir      string    `json:"dir,omitempty"`
		Env      []string  `json:"env,omitempty"`
		Operands []Operand `json:"operands,omitempty"`
		Notes    []string  `json:"notes,omitempty"`
	}{p.Argv, p.Dir, p.Env, p.Operands, p.Notes})
	if err != nil { // strings always marshal
		panic(err)
	}
	return raw
}

// plan asks the adapter, if it is one that plans, and fixes what the call is bound to. The plan before it is let go.
func (r *Runtime) plan(ctx context.Context, p *passage) verdict {
	p.digest = p.args.Digest()
	planner, ok := p.entry.tool.Adapter.(Planner)
	if !ok {
		return verdict{}
	}
	ctx, stop := context.WithTimeout(ctx, planTime)
	defer stop()
	p.worked = true
	call := r.asked(p, r.clock())
	call.Progress = func(wire.Progress) {}
	plan, no := planner.Plan(ctx, call)
	p.letGo()
	p.planned = &plan
	if no.Reason != "" {
		return verdict{status: Denied, reason: no.Reason, why: no.Why, model: no.Model, remedy: no.Remedy}
	}
	broken := func(why string) verdict {
		return verdict{status: Denied, reason: ReasonPlanInvalid, why: p.entry.tool.Name + ": the plan of the call " + why, model: "the tool could not say what it would run"}
	}
	if why := plan.fault(); why != "" {
		return broken(why)
	}
	p.digest = plan.Digest(p.args.Digest())
	shown, err := p.catalog.views(questionBounds(), redact.JSON(plan.shown()), redact.ForOperator)
	if err != nil {
		return broken("could not be redacted")
	}
	p.plan = shown
	return verdict{}
}

// recheck plans again after a person has answered: what they approved must still be what is there.
func (r *Runtime) recheck(ctx context.Context, p *passage) verdict {
	if p.planned == nil {
		return verdict{}
	}
	approved := p.digest
	if v := r.plan(ctx, p); v.stops() {
		return v
	}
	if p.digest == approved {
		return verdict{}
	}
	return operandChanged(p.entry.tool.Name)
}

func operandChanged(tool string) verdict {
	return verdict{
		status: Denied, reason: ReasonOperandChanged,
		why:   tool + ": what it would run has changed since it was approved, so it did not run: ask for it again",
		model: "what would run has changed since it was approved; it did not run",
	}
}

// letGo closes what the plan holds open.
func (p *passage) letGo() {
	if p.planned != nil && p.planned.Held != nil {
		_ = p.planned.Held.Close() // it was only read
		p.planned.Held = nil
	}
}

// question is what a person is asked about this call.
func (p *passage) question() gate.Request {
	t := p.entry.tool
	key, cacheable := p.key()
	q := gate.Request{
		Turn: p.turn, Effect: p.req.ID, Tool: t.Name, Plugin: p.entry.label, Risk: t.Risk, Needs: names(p.needs),
		Why: p.policy.Why, Arguments: p.shown.Operator.String(), Digest: p.digest, Key: key, Cacheable: cacheable,
		Approvers: p.catalog.setup.Approvers,
	}
	if p.planned != nil {
		q.Plan = p.plan.Operator.String()
	}
	return q
}
