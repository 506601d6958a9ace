package approval

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/approval"
)

// Default bounds of a [Gate].
const (
	DefaultAnswerTime = 10 * time.Minute // how long a question may be answered
	DefaultCacheTime  = 8 * time.Hour    // how long "for this session" lasts
)

// Stable reasons of a decision that no person gave in words.
const (
	ReasonNoRoute      = "no_interactive_route"   // nobody can be asked here
	ReasonNotStored    = "approval_not_stored"    // the question or the answer could not be made durable
	ReasonNotDelivered = "approval_not_delivered" // the question could not be brought to anybody
	ReasonExpired      = "approval_expired"       // nobody answered in time
	ReasonInterrupt    = "approval_interrupted"   // the asking side failed or was cancelled
	ReasonDenied       = "approval_denied"        // a person said no
	ReasonRevoked      = "approval_revoked"       // what it would have rested on ended while it was waited for
	ReasonClosed       = "host_closing"           // the host is shutting down
	ReasonCached       = "allowed_for_session"    // an earlier answer covers it
	ReasonAllowed      = "allowed_once"
	ReasonAnswerOdd    = "approval_answer_invalid"
)

const (
	reasonMaxRunes   = 200
	pollInterval     = 200 * time.Millisecond
	decideAfterwards = 5 * time.Second
	maxAllowances    = 4096 // remembered at a time; what would be one more is allowed once
)

// Config is what a Gate works with. Journal, Clock and IDs are required. Of the three ways to an answer, Prompter goes
// before Courier and Courier before Wait; with none of them nobody can be asked. Whatever the way, a decision by id
// ([Gate.Record], or another process over the same store) counts as well, and the first answer stands.
type Config struct {
	Journal  Journal
	Prompter Prompter      // asks a person and waits
	Courier  Courier       // brings the question to where a person is; the answer comes by id, within Wait if that is set
	Wait     time.Duration // only waits this long for an answer by id
	// Waits is told when a turn begins to wait for a person: for an answer, for the prompt to come free, or for the answer to
	// what one allowance would cover too. What it returns is called when that is over. It may be nil.
	Waits      func(ctx context.Context, t id.Turn) (over func())
	Clock      func() time.Time
	IDs        *id.Source
	AnswerTime time.Duration // 0: DefaultAnswerTime
	CacheTime  time.Duration // 0: DefaultCacheTime
}

// Gate asks and remembers. It is safe for concurrent use.
type Gate struct {
	cfg    Config
	prompt chan struct{} // held while the Prompter is asked: it is given one question at a time

	mu      sync.Mutex // guards the rest; never held over a prompt or a store call
	allowed map[approval.Key]allowance
	lanes   map[approval.Key]*lane
	under   map[*deciding]struct{}
	wake    map[id.Approval]chan struct{}
	closed  bool
}

// NewGate returns a Gate with an empty cache.
func NewGate(cfg Config) *Gate {
	if cfg.AnswerTime == 0 {
		cfg.AnswerTime = DefaultAnswerTime
	}
	if cfg.CacheTime == 0 {
		cfg.CacheTime = DefaultCacheTime
	}
	return &Gate{
		cfg: cfg, prompt: make(chan struct{}, 1), allowed: map[approval.Key]allowance{},
		lanes: map[approval.Key]*lane{}, under: map[*deciding]struct{}{}, wake: map[id.Approval]chan struct{}{},
	}
}

// Request is one call that policy wants a person to decide. Texts are redacted for the operator view.
type Request struct {
	Turn      binding.Turn
	Effect    id.Effect
	Tool      string
	Plugin    string
	Risk      approval.Risk
	Needs     []string
	Why       string
	Arguments string   // whole, as a JSON text, or the call is not approvable
	Plan      string   // what would run, as a JSON text; empty when the arguments say it all
	Digest    string   // over Arguments and Plan as they are before redaction
	Approvers []string // who may decide besides the operator; none: the turn's principal
	Key       approval.Key
	Cacheable bool
}

// Decision is the gate's answer.
type Decision struct {
	Allowed  bool
	Cached   bool        // an earlier allowance covered it; no question was asked
	Approval id.Approval // the question that decided, also when cached
	By       string
	Reason   string // one of the Reason codes, never what a person typed
	Words    string // of whoever decided, "" when they gave none
}

// decision is what a settled question means for the call. A person's words are not a code, whatever they are.
func decision(q Question) Decision {
	d := Decision{Allowed: q.State == Allowed, Approval: q.ID, By: q.DecidedBy, Reason: q.Reason}
	if d.By == "" {
		return d
	}
	d.Reason = worded(q.State, q.Reach)
	if q.Reason != d.Reason {
		d.Words = q.Reason
	}
	return d
}

// worded is the code of a person's answer.
func worded(state State, reach Reach) string {
	if state == Allowed && reach == ForSession {
		return ReasonCached
	}
	return map[State]string{Allowed: ReasonAllowed, Denied: ReasonDenied, Expired: ReasonExpired}[state]
}

// Decide returns whether the call may run. It blocks until a person answered, the question expired or ctx ended;
// a ctx that ends is a denial, recorded as such. Requests that one allowance for the session could cover are decided one
// after another, and each looks at what the one before it left. What is revoked while a request waits denies it.
func (g *Gate) Decide(ctx context.Context, req Request) Decision {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d, ok := g.begin(req, cancel)
	if !ok {
		return Decision{Reason: ReasonClosed}
	}
	defer g.end(d)
	if req.Cacheable {
		leave, ok := g.enter(ctx, req.Key, req.Turn.ID())
		if !ok {
			return Decision{Reason: stopped(ctx)}
		}
		defer leave()
		if dec, ok := g.covered(ctx, d, req); ok {
			return dec
		}
	}
	if ctx.Err() != nil {
		return Decision{Reason: stopped(ctx)}
	}
	return g.ask(ctx, d, req)
}

// waits tells that t waits for a person, and with the function that it returns that it does no longer.
func (g *Gate) waits(ctx context.Context, t id.Turn) (over func()) {
	if g.cfg.Waits == nil {
		return func() {}
	}
	return g.cfg.Waits(ctx, t)
}

// ask puts the question and makes its answer durable.
func (g *Gate) ask(ctx context.Context, d *deciding, req Request) Decision {
	q, fits := g.question(ctx, req)
	if !fits { // its time is over before it could be asked
		return Decision{Reason: ReasonExpired}
	}
	woken := g.listen(q.ID)
	defer g.unlisten(q.ID)
	asked := g.record(event.ApprovalAsked, req, q, event.F("rule", q.Why))
	if err := g.cfg.Journal.Ask(ctx, q, asked); err != nil {
		return Decision{Reason: ReasonNotStored}
	}
	ans := g.answer(ctx, req.Turn.Principal(), q, woken)
	q, ok := g.settle(ctx, req, q, ans)
	if !ok {
		return Decision{Approval: q.ID, Reason: ReasonNotStored}
	}
	dec := decision(q)
	if dec.Allowed {
		return g.keep(d, req, q, dec)
	}
	return dec
}

// settle makes the answer durable and returns the question as it now stands, which another decider may have
// settled first. It works on even when ctx has ended: a denial must be on record too.
func (g *Gate) settle(ctx context.Context, req Request, q Question, ans Answer) (Question, bool) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), decideAfterwards)
	defer stop()
	rec := g.record(event.ApprovalDecided, req, q,
		event.F("state", string(ans.State)), event.F("reach", string(ans.Reach)), event.F("by", ans.By), event.F("reason", ans.Reason))
	now, how, err := g.cfg.Journal.Decide(ctx, req.Turn.Principal(), q.ID, ans, g.cfg.Clock(), rec)
	if err == nil && how == NotApprover { // who sits at this prompt may not decide it, and nobody else was asked
		ans = Answer{State: Denied, Reason: ReasonAnswerOdd}
		rec = g.record(event.ApprovalDecided, req, q, event.F("state", string(ans.State)), event.F("reason", ans.Reason))
		now, how, err = g.cfg.Journal.Decide(ctx, req.Turn.Principal(), q.ID, ans, g.cfg.Clock(), rec)
	}
	if err != nil || how != Recorded && how != AlreadyDecided && how != TooLate {
		return q, false
	}
	return now, true
}

func (g *Gate) record(kind event.Kind, req Request, q Question, more ...event.Field) event.Record {
	fields := append([]event.Field{
		event.F("approval", string(q.ID)), event.F("tool", q.Tool), event.F("plugin", q.Plugin),
		event.F("risk", q.Risk.String()), event.F("digest", q.Digest), event.F("key", req.Key.Short()),
	}, more...)
	return event.Record{
		ID: g.cfg.IDs.Event(), At: g.cfg.Clock(), Kind: kind, Principal: q.Principal,
		Session: q.Session, Turn: q.Turn, Effect: q.Effect, Trace: req.Turn.Trace(), Fields: fields,
	}
}

// Causes of a decision's context that the gate itself ended.
var (
	errRevoked = errors.New("approval: what it would have rested on was revoked")
	errClosed  = errors.New("approval: the host is shutting down")
	errSettled = errors.New("approval: it was decided elsewhere")
)

// stopped is the reason of a decision whose context ended.
func stopped(ctx context.Context) string {
	switch context.Cause(ctx) {
	case errRevoked:
		return ReasonRevoked
	case errClosed:
		return ReasonClosed
	case context.DeadlineExceeded:
		return ReasonExpired
	}
	return ReasonInterrupt
}
