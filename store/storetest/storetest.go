// Package storetest owns the contract that every store of the host must pass: one case for each rule, a random walk
// that compares two stores answer by answer, and a hammer.
//
// A store's own test calls [Run] with a way to open an empty store, and [Compare] beside another store. The cases use
// nothing but the ports and never sleep: the store reads the [Clock] of its harness, which moves only when told. The
// package links testing and is for tests alone. Nothing in it survives a run.
package storetest

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	decide "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Store is the sum of the ports under test.
type Store interface {
	turn.Journal
	turn.History
	prompt.Journal
	effect.Journal
	effect.Grants
	effect.Resolutions
	effect.Reconciliations
	approval.Journal
	outbox.Queue
	outbox.Records
	task.Queue
	task.Records
	turn.Notices
	authority.Bindings
	authority.Audit
	sandbox.KV
}

// Harness is one empty store with what the cases need around it.
type Harness struct {
	Store  Store
	Clock  *Clock            // what the store reads
	Issuer *principal.Issuer // over this store
	// Disown leaves a session without a durable owner, as a damaged or imported database would.
	Disown func(t testing.TB, s id.Session)
	// Doubt makes a session's owner uncertain, as a migration does that finds it ambiguous.
	Doubt func(t testing.TB, s id.Session)
}

// Clock is a clock that moves only when it is told to. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

// NewClock returns a Clock that stands at a fixed instant, with a part of a millisecond that no store keeps.
func NewClock() *Clock { return &Clock{now: beginning()} }

func beginning() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 8_900_000, time.UTC) }

// Now is the instant that the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Run holds the store that open returns to the contract. Each case gets one of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { c.check(t, newWorld(t, open(t))) })
	}
}

type testCase struct {
	name  string
	check func(t *testing.T, w *world)
}

func cases() []testCase {
	var all []testCase
	for _, some := range [][]testCase{
		admissionCases(), fenceCases(), behindCases(), contextCases(), terminalCases(), effectCases(), resolveCases(), reconcileCases(), childCases(), cancelCases(), ownerCases(), approvalCases(), recoveryCases(), outboxCases(), taskCases(),
		readingCases(), endingCases(), authorityCases(), eventCases(), grantCases(), valueCases(), textCases(), hammerCases(),
	} {
		all = append(all, some...)
	}
	return all
}

// world is a store with a few people around it.
type world struct {
	Harness
	ctx   context.Context
	ids   *id.Source
	epoch id.Epoch
}

func newWorld(t testing.TB, h Harness) *world {
	ids := id.NewSource(h.Clock.Now, rand.Reader)
	return &world{Harness: h, ctx: t.Context(), ids: ids, epoch: ids.Epoch()}
}

// The owners of the cases.
func alice() principal.Facts { return talker("alice") }
func bob() principal.Facts   { return talker("bob") }

func talker(name string) principal.Facts {
	return principal.Facts{
		PrincipalID: "principal:conversation:chat:" + name, Authority: principal.Conversation,
		Channel: "chat", ConversationKey: "chat:dm:" + name,
	}
}

func operatorFacts() principal.Facts {
	return principal.Facts{PrincipalID: authority.OperatorID, Authority: principal.Operator, Reason: "test"}
}

func (w *world) operator(t testing.TB) principal.Scope { return w.issue(t, operatorFacts()) }

// scope is f's authority over one session.
func (w *world) scope(t testing.TB, f principal.Facts, s id.Session) principal.Scope {
	f.SessionID, f.AllowedSessions = string(s), []string{string(s)}
	return w.issue(t, f)
}

func (w *world) issue(t testing.TB, f principal.Facts) principal.Scope {
	t.Helper()
	scope, err := w.Issuer.Issue(f)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// record is an audit record of kind.
func (w *world) record(k event.Kind) event.Record {
	return event.Record{ID: w.ids.Event(), At: w.Clock.Now(), Kind: k, Principal: "principal:test"}
}

func (w *world) records() []event.Record {
	return []event.Record{w.record(event.SessionCreated), w.record(event.TurnStarted)}
}

// admission asks for a turn of f in the session that sel selects.
func (w *world) admission(f principal.Facts, sel turn.Selector) turn.Admission {
	return turn.Admission{
		Request: w.ids.Request(), Digest: "d1", Turn: w.ids.Turn(), NewSession: w.ids.Session(), Selector: sel, Owner: f,
		Core: "assistant", Revision: "sha256:r1", Capabilities: "c1",
		Claim: lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: w.Clock.Now().Add(time.Minute)},
		Trace: w.ids.Trace(), Input: "hello\nworld", At: w.Clock.Now(),
	}
}

// Selectors.
func bound() turn.Selector              { return turn.Selector{Kind: turn.Bound} }
func fresh() turn.Selector              { return turn.Selector{Kind: turn.Fresh} }
func resume(s id.Session) turn.Selector { return turn.Selector{Kind: turn.Resume, Session: s} }

// live is an admitted turn.
type live struct {
	turn    id.Turn
	session id.Session
	claim   lease.Claim
}

func (w *world) admit(t testing.TB, a turn.Admission) turn.Admittance {
	t.Helper()
	got, err := w.Store.Admit(w.ctx, a, w.records())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// start admits a turn of f, which must succeed.
func (w *world) start(t testing.TB, f principal.Facts, sel turn.Selector) live {
	t.Helper()
	a := w.admission(f, sel)
	got := w.admit(t, a)
	if got.Disposition != turn.Admitted {
		t.Fatalf("the turn was not admitted: %s", got.Disposition)
	}
	return live{a.Turn, got.Session, got.Claim}
}

func (w *world) terminal(l live, o turn.Outcome) turn.Terminal {
	end := turn.Terminal{
		Turn: l.turn, Session: l.session, Claim: l.claim, Outcome: o, Steps: 2,
		Usage: turn.Usage{Input: 10, Output: 20, CacheRead: 3, CacheWrite: 4}, At: w.Clock.Now(),
	}
	switch o {
	case turn.Completed, turn.NeedsUser:
		end.Reply = "done"
	default:
		end.Reason = "because"
	}
	return end
}

func (w *world) finish(t testing.TB, l live, o turn.Outcome) turn.Fenced {
	t.Helper()
	how, err := w.Store.Finish(w.ctx, w.terminal(l, o), w.record(event.TurnFinished))
	if err != nil {
		t.Fatal(err)
	}
	return how
}

// ended admits a turn of f and completes it.
func (w *world) ended(t testing.TB, f principal.Facts, sel turn.Selector) live {
	t.Helper()
	l := w.start(t, f, sel)
	if how := w.finish(t, l, turn.Completed); how != turn.Written {
		t.Fatalf("finish was %s", how)
	}
	return l
}

func (w *world) message(l live, role, body string) turn.Message {
	return turn.Message{ID: w.ids.Message(), Turn: l.turn, Role: role, Body: []byte(body), At: w.Clock.Now()}
}

func (w *world) started(l live) effect.Started {
	return effect.Started{
		Effect: w.ids.Effect(), Turn: l.turn, Session: l.session, CallID: "call-1", Tool: "calc.eval", Plugin: "calc@1.0.0",
		Recovery: "read", Digest: "d", Arguments: []byte(`{"a":1}`), At: w.Clock.Now(),
	}
}

func (w *world) finished(s effect.Started, status effect.Status) effect.Finished {
	return effect.Finished{
		Effect: s.Effect, Turn: s.Turn, Session: s.Session, CallID: s.CallID, Tool: s.Tool, Plugin: s.Plugin, Status: status,
		Started: true, Durable: []byte(`{"ok":true}`), At: w.Clock.Now(), Duration: 12345 * time.Microsecond,
	}
}

// begin starts an effect of l.
func (w *world) begin(t testing.TB, l live) effect.Started {
	t.Helper()
	s := w.started(l)
	if _, err := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) question(l live) approval.Question {
	return approval.Question{
		ID: w.ids.Approval(), Session: l.session, Turn: l.turn, Effect: w.ids.Effect(), Principal: "principal:test",
		Core: "assistant", Tool: "mail.send", Plugin: "mail@1.0.0", Risk: decide.High, Needs: []string{"kv", "fs.read"},
		Why: "rule 3", Arguments: `{"to":"x"}`, Digest: "d", RuleKey: "mail.send", Cacheable: true,
		Asked: w.Clock.Now(), Expires: w.Clock.Now().Add(time.Minute), State: approval.Pending,
	}
}

// ask stores a question of l.
func (w *world) ask(t testing.TB, l live) approval.Question {
	t.Helper()
	q := w.question(l)
	if err := w.Store.Ask(w.ctx, q, w.record(event.ApprovalAsked)); err != nil {
		t.Fatal(err)
	}
	return q
}

func (w *world) events(t testing.TB, q turn.EventQuery) []event.Record {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	got, err := w.Store.Events(w.ctx, w.operator(t), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (w *world) turnOf(t testing.TB, key id.Turn) turn.Record {
	t.Helper()
	rec, found, err := w.Store.Turn(w.ctx, w.operator(t), key)
	if err != nil || !found {
		t.Fatalf("turn %s: found %v, %v", key, found, err)
	}
	return rec
}
