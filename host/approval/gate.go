package approval

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Default bounds of a [Gate].
const (
	DefaultAnswerTime = 10 * time.Minute // how long a question may be answered
	DefaultCacheTime  = 8 * time.Hour    // how long "for this session" lasts
)

// Stable reasons of a denial that no person gave.
const (
	ReasonNoRoute    = "no_interactive_route" // nobody can be asked here
	ReasonNotStored  = "approval_not_stored"  // the question or the answer could not be made durable
	ReasonExpired    = "approval_expired"     // nobody answered in time
	ReasonInterrupt  = "approval_interrupted" // the asking side failed or was cancelled
	ReasonDenied     = "approval_denied"      // a person said no
	ReasonCached     = "allowed_for_session"  // an earlier answer covers it
	ReasonAllowed    = "allowed_once"
	ReasonAnswerOdd  = "approval_answer_invalid"
	reasonMaxRunes   = 200
	pollInterval     = 200 * time.Millisecond
	decideAfterwards = 5 * time.Second
)

// Config is what a Gate works with. Journal, Clock and IDs are required.
type Config struct {
	Journal    Journal
	Prompter   Prompter      // nil: nobody can be asked in this process
	Wait       time.Duration // with no Prompter: how long to wait for a decision by another process; 0 denies at once
	Clock      func() time.Time
	IDs        *id.Source
	AnswerTime time.Duration // 0: DefaultAnswerTime
	CacheTime  time.Duration // 0: DefaultCacheTime
}

// Gate asks and remembers. It is safe for concurrent use.
type Gate struct {
	cfg Config

	mu      sync.Mutex // guards allowed; never held over a prompt or a store call
	allowed map[approval.Key]allowance
}

type allowance struct {
	until time.Time
	by    string
	from  id.Approval
}

// NewGate returns a Gate with an empty cache.
func NewGate(cfg Config) *Gate {
	if cfg.AnswerTime == 0 {
		cfg.AnswerTime = DefaultAnswerTime
	}
	if cfg.CacheTime == 0 {
		cfg.CacheTime = DefaultCacheTime
	}
	return &Gate{cfg: cfg, allowed: map[approval.Key]allowance{}}
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
	Arguments string // whole, or the call is not approvable
	Plan      string // what would run, as JSON; empty when the arguments say it all
	Digest    string // over Arguments and Plan as they are before redaction
	Key       approval.Key
	Cacheable bool
}

// Decision is the gate's answer.
type Decision struct {
	Allowed  bool
	Cached   bool        // an earlier allowance covered it; no question was asked
	Approval id.Approval // the question that decided, also when cached
	By       string
	Reason   string
}

// Decide returns whether the call may run. It blocks until a person answered, the question expired or ctx ended;
// a ctx that ends is a denial, recorded as such.
func (g *Gate) Decide(ctx context.Context, req Request) Decision {
	if a, ok := g.remembered(req.Key); ok && req.Cacheable {
		return Decision{Allowed: true, Cached: true, Approval: a.from, By: a.by, Reason: ReasonCached}
	}
	q := g.question(req)
	asked := g.record(event.ApprovalAsked, req, q, event.F("rule", q.Why))
	if err := g.cfg.Journal.Ask(ctx, q, asked); err != nil {
		return Decision{Reason: ReasonNotStored}
	}
	ans := g.answer(ctx, req.Turn.Principal(), q)
	q, ok := g.settle(ctx, req, q, ans)
	if !ok {
		return Decision{Approval: q.ID, Reason: ReasonNotStored}
	}
	d := Decision{Allowed: q.State == Allowed, Approval: q.ID, By: q.DecidedBy, Reason: q.Reason}
	if d.Allowed && q.Reach == ForSession && req.Cacheable {
		g.remember(req.Key, allowance{until: g.cfg.Clock().Add(g.cfg.CacheTime), by: q.DecidedBy, from: q.ID})
	}
	return d
}

func (g *Gate) question(req Request) Question {
	now := g.cfg.Clock()
	open := g.cfg.AnswerTime
	if g.cfg.Prompter == nil && g.cfg.Wait > 0 {
		open = min(open, g.cfg.Wait) // an answer after the call has gone would allow nothing
	}
	return Question{
		ID: g.cfg.IDs.Approval(), Session: req.Turn.Session(), Turn: req.Turn.ID(), Effect: req.Effect,
		Principal: req.Turn.Principal().PrincipalID(), Core: req.Turn.Core().ID, Tool: req.Tool, Plugin: req.Plugin,
		Risk: req.Risk, Needs: req.Needs, Why: req.Why, Arguments: req.Arguments, Plan: req.Plan, Digest: req.Digest,
		RuleKey: req.Key.Rule, Cacheable: req.Cacheable,
		Asked: now, Expires: now.Add(open), State: Pending,
	}
}

// answer gets a person's answer, or makes the denial that stands in for one.
func (g *Gate) answer(ctx context.Context, by principal.Scope, q Question) Answer {
	switch {
	case g.cfg.Prompter != nil:
		ctx, stop := context.WithDeadlineCause(ctx, time.Now().Add(q.Expires.Sub(q.Asked)), context.DeadlineExceeded)
		defer stop()
		ans, err := g.cfg.Prompter.Prompt(ctx, q)
		if err != nil || ctx.Err() != nil {
			return refusal(ctx)
		}
		return sane(ans, q)
	case g.cfg.Wait > 0:
		return g.await(ctx, by, q)
	default:
		return Answer{State: Denied, Reason: ReasonNoRoute}
	}
}

// await polls for a decision that another process records. The poll reads one row by its key.
func (g *Gate) await(ctx context.Context, by principal.Scope, q Question) Answer {
	ctx, stop := context.WithTimeout(ctx, q.Expires.Sub(q.Asked))
	defer stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return refusal(ctx)
		case <-tick.C:
			now, found, err := g.cfg.Journal.Question(ctx, by, q.ID)
			if ctx.Err() != nil { // the store was asked as the time ran out: the time decides, not its error
				return refusal(ctx)
			}
			if err != nil || !found {
				return Answer{State: Denied, Reason: ReasonInterrupt}
			}
			if now.State != Pending {
				return Answer{State: now.State, Reach: now.Reach, By: now.DecidedBy, Reason: now.Reason}
			}
		}
	}
}

func refusal(ctx context.Context) Answer {
	if context.Cause(ctx) == context.DeadlineExceeded {
		return Answer{State: Expired, Reason: ReasonExpired}
	}
	return Answer{State: Denied, Reason: ReasonInterrupt}
}

// sane holds an answer to what the question offered: a reach that was not offered becomes once, and a decider
// without a name cannot allow.
func sane(a Answer, q Question) Answer {
	switch {
	case a.State == Allowed && a.By == "":
		return Answer{State: Denied, Reason: ReasonAnswerOdd}
	case a.State == Allowed && (a.Reach != ForSession || !q.Cacheable):
		a.Reach = Once
	case a.State != Allowed && a.State != Expired:
		a.State, a.Reach = Denied, ""
	}
	if a.Reason == "" {
		a.Reason = map[State]string{Allowed: ReasonAllowed, Denied: ReasonDenied, Expired: ReasonExpired}[a.State]
	}
	if r := []rune(strings.ToValidUTF8(a.Reason, "?")); len(r) > reasonMaxRunes {
		a.Reason = string(r[:reasonMaxRunes])
	}
	return a
}

// settle makes the answer durable and returns the question as it now stands, which another decider may have
// settled first. It works on even when ctx has ended: a denial must be on record too.
func (g *Gate) settle(ctx context.Context, req Request, q Question, ans Answer) (Question, bool) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), decideAfterwards)
	defer stop()
	rec := g.record(event.ApprovalDecided, req, q,
		event.F("state", string(ans.State)), event.F("reach", string(ans.Reach)), event.F("by", ans.By), event.F("reason", ans.Reason))
	now, how, err := g.cfg.Journal.Decide(ctx, req.Turn.Principal(), q.ID, ans, g.cfg.Clock(), rec)
	if err != nil || how == NotFound {
		return q, false
	}
	return now, true
}

func (g *Gate) record(kind event.Kind, req Request, q Question, more ...event.Field) event.Record {
	fields := append([]event.Field{
		event.F("approval", string(q.ID)), event.F("tool", q.Tool), event.F("plugin", q.Plugin),
		event.F("risk", q.Risk.String()), event.F("digest", q.Digest),
	}, more...)
	return event.Record{
		ID: g.cfg.IDs.Event(), At: g.cfg.Clock(), Kind: kind, Principal: q.Principal,
		Session: q.Session, Turn: q.Turn, Effect: q.Effect, Trace: req.Turn.Trace(), Fields: fields,
	}
}

func (g *Gate) remembered(k approval.Key) (allowance, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, ok := g.allowed[k]
	if ok && !g.cfg.Clock().Before(a.until) {
		delete(g.allowed, k)
		return allowance{}, false
	}
	return a, ok
}

func (g *Gate) remember(k approval.Key, a allowance) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed[k] = a
}

// EndSession forgets every allowance of a session. Call it when the session ends or its binding changes.
func (g *Gate) EndSession(s id.Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.allowed {
		if k.Session == string(s) {
			delete(g.allowed, k)
		}
	}
}

// Record stores a decision that a person made outside a prompt, for example `portcullis approvals allow`. The
// scope must reach the question's session.
func (g *Gate) Record(ctx context.Context, by principal.Scope, a id.Approval, allow bool, reach Reach, reason string) (Question, Recording, error) {
	q, found, err := g.cfg.Journal.Question(ctx, by, a)
	if err != nil || !found {
		return Question{}, NotFound, err
	}
	ans := Answer{State: Denied, By: by.PrincipalID(), Reason: reason}
	if allow {
		ans.State, ans.Reach = Allowed, reach
	}
	ans = sane(ans, q)
	rec := event.Record{
		ID: g.cfg.IDs.Event(), At: g.cfg.Clock(), Kind: event.ApprovalDecided, Principal: by.PrincipalID(),
		Session: q.Session, Turn: q.Turn, Effect: q.Effect,
		Fields: []event.Field{
			event.F("approval", string(q.ID)), event.F("tool", q.Tool), event.F("state", string(ans.State)),
			event.F("reach", string(ans.Reach)), event.F("by", ans.By), event.F("reason", ans.Reason),
		},
	}
	return g.cfg.Journal.Decide(ctx, by, a, ans, g.cfg.Clock(), rec)
}
