package approval_test

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	rules "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// me is who the turns are for.
const me = authority.OperatorID

// bench is a gate over a memory store with one running turn.
type bench struct {
	t     *testing.T
	store *memory.Store
	ids   *id.Source
	cfg   approval.Config
	turn  binding.Turn
	scope principal.Scope
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, ids: id.NewSource(time.Now, rand.Reader)}
	b.store = memory.New(memory.Config{Clock: time.Now, IDs: b.ids})
	b.cfg = approval.Config{Journal: b.store, Clock: time.Now, IDs: b.ids}
	facts := authority.OperatorFacts("test")
	req, turnID := b.ids.Request(), b.ids.Turn()
	rec := func(k event.Kind) event.Record {
		return event.Record{ID: b.ids.Event(), At: time.Now(), Kind: k, Principal: facts.PrincipalID}
	}
	got, err := b.store.Admit(t.Context(), turn.Admission{
		Request: req, Digest: "d", Turn: turnID, NewSession: b.ids.Session(), Selector: turn.Selector{Kind: turn.Fresh}, Owner: facts,
		Core: "assistant", Revision: "r", Trace: b.ids.Trace(), Input: "x", At: time.Now(),
		Claim: lease.Claim{Token: b.ids.Lease(), Epoch: b.ids.Epoch(), Expires: time.Now().Add(time.Hour)},
	}, []event.Record{rec(event.SessionCreated), rec(event.TurnStarted)})
	if err != nil || got.Disposition != turn.Admitted {
		t.Fatal(got.Disposition, err)
	}
	resolver := authority.NewResolver(b.store, b.store, time.Now, b.ids)
	if b.scope, err = resolver.Session(t.Context(), facts, got.Session); err != nil {
		t.Fatal(err)
	}
	token := binding.Token{ID: b.ids.Token(), Request: req, Turn: turnID, Session: got.Session}
	b.turn, err = binding.New(binding.Spec{
		Request: req, Turn: turnID, Session: got.Session, Principal: b.scope, Trace: b.ids.Trace(),
		Core: binding.Core{ID: "assistant", Revision: "r", Capabilities: capability.NewSnapshot()}, Route: token, Admission: token, Cancellation: token,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) request() approval.Request {
	return approval.Request{
		Turn: b.turn, Effect: b.ids.Effect(), Tool: "files.write", Plugin: "files@1.0.0", Risk: rules.Medium,
		Why: "tool: own mode", Arguments: `{"path":"a"}`, Digest: "0123", Cacheable: true,
		Key: rules.Key{Principal: b.scope.PrincipalID(), Session: string(b.turn.Session()), Core: "assistant", Fingerprint: "f", Rule: "files.write"},
	}
}

// person answers prompts and remembers what was asked.
type person struct {
	asked  []approval.Question
	answer func(context.Context, approval.Question) (approval.Answer, error)
}

func (p *person) Prompt(ctx context.Context, q approval.Question) (approval.Answer, error) {
	p.asked = append(p.asked, q)
	return p.answer(ctx, q)
}

func says(a approval.Answer) *person {
	return &person{answer: func(context.Context, approval.Question) (approval.Answer, error) { return a, nil }}
}

func (b *bench) stored(d approval.Decision) approval.Question {
	b.t.Helper()
	q, found, err := b.store.Question(context.Background(), b.scope, d.Approval)
	if err != nil || !found {
		b.t.Fatalf("question %s is not stored: %v", d.Approval, err)
	}
	return q
}

func TestWithNobodyToAskTheAnswerIsNoAndOnRecord(t *testing.T) {
	b := newBench(t)
	d := approval.NewGate(b.cfg).Decide(t.Context(), b.request())
	if d.Allowed || d.Reason != approval.ReasonNoRoute {
		t.Fatalf("%+v", d)
	}
	if q := b.stored(d); q.State != approval.Denied || q.Digest != "0123" || q.Arguments != `{"path":"a"}` {
		t.Fatalf("%+v", q)
	}
}

func TestOnceIsAskedAgainAndForSessionIsNot(t *testing.T) {
	b := newBench(t)
	p := says(approval.Answer{State: approval.Allowed, Reach: approval.Once, By: me})
	b.cfg.Prompter = p
	g := approval.NewGate(b.cfg)
	for range 2 {
		if d := g.Decide(t.Context(), b.request()); !d.Allowed || d.Cached {
			t.Fatalf("%+v", d)
		}
	}
	p.answer = says(approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: me}).answer
	g.Decide(t.Context(), b.request())
	asked := len(p.asked)
	if d := g.Decide(t.Context(), b.request()); !d.Allowed || !d.Cached || len(p.asked) != asked {
		t.Fatalf("%+v after %d questions", d, len(p.asked))
	}
	other := b.request()
	other.Key.Fingerprint = "another policy"
	if g.Decide(t.Context(), other); len(p.asked) != asked+1 {
		t.Fatal("an allowance outlived its policy")
	}
	g.EndSession(b.turn.Session())
	if g.Decide(t.Context(), b.request()); len(p.asked) != asked+2 {
		t.Fatal("an allowance outlived its session")
	}
}

// What a person types beside an answer is told and kept, and is never taken for a code.
func TestAPersonsWordsAreNoCode(t *testing.T) {
	for _, c := range []struct {
		answer approval.Answer
		code   string
	}{
		{approval.Answer{State: approval.Denied, By: me}, approval.ReasonDenied},
		{approval.Answer{State: approval.Allowed, Reach: approval.Once, By: me}, approval.ReasonAllowed},
		{approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: me}, approval.ReasonCached},
	} {
		for _, words := range []string{"", "not today", approval.ReasonNoRoute} {
			b := newBench(t)
			c.answer.Reason = words
			b.cfg.Prompter = says(c.answer)
			d := approval.NewGate(b.cfg).Decide(t.Context(), b.request())
			if d.Reason != c.code || d.Words != words {
				t.Errorf("%+v: code %q and words %q", c.answer, d.Reason, d.Words)
			}
			if q := b.stored(d); words != "" && q.Reason != words {
				t.Errorf("%+v: kept as %q", c.answer, q.Reason)
			}
		}
	}
}

func TestForSessionEndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		p := says(approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: me})
		b.cfg.Prompter, b.cfg.CacheTime = p, 20*time.Minute
		g := approval.NewGate(b.cfg)
		g.Decide(t.Context(), b.request())
		time.Sleep(20*time.Minute - time.Second) // the bubble's clock, not ours
		g.Decide(t.Context(), b.request())
		if len(p.asked) != 1 {
			t.Fatal("forgotten too early")
		}
		time.Sleep(time.Second)
		g.Decide(t.Context(), b.request())
		if len(p.asked) != 2 {
			t.Fatal("remembered too long")
		}
	})
}

// A clock that is set back would let an allowance live longer than was said: what was given after the time it shows is forgotten.
func TestAClockThatGoesBackEndsWhatWasAllowed(t *testing.T) {
	b := newBench(t)
	p := says(approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: me})
	var back time.Duration
	b.cfg.Prompter, b.cfg.Clock = p, func() time.Time { return time.Now().Round(0).Add(-back) }
	g := approval.NewGate(b.cfg)
	for _, step := range []struct {
		back  time.Duration
		asked int
	}{{0, 1}, {0, 1}, {time.Hour, 2}, {time.Hour, 2}} {
		back = step.back
		if d := g.Decide(t.Context(), b.request()); !d.Allowed || len(p.asked) != step.asked {
			t.Fatalf("with a clock %s back: allowed %v, asked %d times, want %d", back, d.Allowed, len(p.asked), step.asked)
		}
	}
}

func TestAnswersThatWereNotOfferedDoNotWiden(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		answer    approval.Answer
		cacheable bool
		allowed   bool
		reach     approval.Reach
	}{
		"session where only once was offered": {approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: me}, false, true, approval.Once},
		"allowed by nobody":                   {approval.Answer{State: approval.Allowed, Reach: approval.Once}, true, false, ""},
		"an unknown word":                     {approval.Answer{State: "sure", By: me}, true, false, ""},
		"nothing":                             {approval.Answer{}, true, false, ""},
		"still pending":                       {approval.Answer{State: approval.Pending, By: me}, true, false, ""},
	} {
		b.cfg.Prompter = says(c.answer)
		req := b.request()
		req.Cacheable = c.cacheable
		d := approval.NewGate(b.cfg).Decide(t.Context(), req)
		want := map[bool]approval.State{true: approval.Allowed, false: approval.Denied}[c.allowed]
		if q := b.stored(d); d.Allowed != c.allowed || q.Reach != c.reach || q.State != want {
			t.Errorf("%s: allowed %v, reach %q, recorded as %s", name, d.Allowed, q.Reach, q.State)
		}
	}
}

func TestAPrompterThatFailsOrIsLateDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Prompter = &person{answer: func(context.Context, approval.Question) (approval.Answer, error) {
			return approval.Answer{State: approval.Allowed, By: me}, errors.New("the terminal went away")
		}}
		if d := approval.NewGate(b.cfg).Decide(t.Context(), b.request()); d.Allowed || d.Reason != approval.ReasonInterrupt {
			t.Fatalf("%+v", d)
		}
		b.cfg.AnswerTime = time.Minute
		b.cfg.Prompter = &person{answer: func(ctx context.Context, _ approval.Question) (approval.Answer, error) {
			<-ctx.Done()
			return approval.Answer{State: approval.Allowed, By: me}, nil
		}}
		d := approval.NewGate(b.cfg).Decide(t.Context(), b.request())
		if d.Allowed || d.Reason != approval.ReasonExpired || b.stored(d).State != approval.Expired {
			t.Fatalf("%+v", d)
		}
	})
}

func TestACancelledTurnLeavesADenialOnRecord(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.cfg.Prompter = &person{answer: func(ctx context.Context, _ approval.Question) (approval.Answer, error) {
		cancel()
		return approval.Answer{State: approval.Allowed, By: me}, nil
	}}
	d := approval.NewGate(b.cfg).Decide(ctx, b.request())
	if q := b.stored(d); d.Allowed || q.State != approval.Denied {
		t.Fatalf("%+v %+v", d, q)
	}
}

func TestAnotherProcessCanDecideWhileTheCallWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Wait = time.Minute
		waiting := approval.NewGate(b.cfg)
		elsewhere := approval.NewGate(approval.Config{Journal: b.store, Clock: time.Now, IDs: b.ids})
		done := make(chan approval.Decision, 1)
		go func() { done <- waiting.Decide(context.Background(), b.request()) }()
		synctest.Wait()
		open, err := b.store.Questions(t.Context(), b.scope, approval.Pending, 0, 10)
		if err != nil || len(open) != 1 {
			t.Fatalf("%d pending, %v", len(open), err)
		}
		if _, how, err := elsewhere.Record(t.Context(), b.scope, open[0].ID, true, approval.Once, "looks right"); err != nil || how != approval.Recorded {
			t.Fatal(how, err)
		}
		if d := <-done; !d.Allowed || d.By != b.scope.PrincipalID() {
			t.Fatalf("%+v", d)
		}
		if _, how, err := elsewhere.Record(t.Context(), b.scope, open[0].ID, false, "", "changed my mind"); err != nil || how != approval.AlreadyDecided {
			t.Fatal(how, err)
		}
	})
}

// slowJournal is asked about a question just as the time runs out.
type slowJournal struct{ approval.Journal }

func (slowJournal) Question(ctx context.Context, _ principal.Scope, _ id.Approval) (approval.Question, bool, error) {
	<-ctx.Done()
	return approval.Question{}, false, ctx.Err()
}

func TestAWaitThatRunsOutIsAlwaysExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Wait = 2 * time.Second
		for _, journal := range []approval.Journal{b.store, slowJournal{b.store}} {
			b.cfg.Journal = journal
			d := approval.NewGate(b.cfg).Decide(t.Context(), b.request())
			q := b.stored(d)
			if d.Allowed || d.Reason != approval.ReasonExpired || q.State != approval.Expired {
				t.Fatalf("%+v %s", d, q.State)
			}
			if open := q.Expires.Sub(q.Asked); open != 2*time.Second {
				t.Fatalf("the question says it is open for %s", open)
			}
		}
	})
}

// brokenJournal cannot store.
type brokenJournal struct{ approval.Journal }

func (brokenJournal) Ask(context.Context, approval.Question, event.Record) error {
	return errors.New("disk full")
}

func TestAQuestionThatCannotBeStoredIsNotAsked(t *testing.T) {
	b := newBench(t)
	p := says(approval.Answer{State: approval.Allowed, By: me})
	b.cfg.Prompter, b.cfg.Journal = p, brokenJournal{b.store}
	if d := approval.NewGate(b.cfg).Decide(t.Context(), b.request()); d.Allowed || d.Reason != approval.ReasonNotStored || len(p.asked) != 0 {
		t.Fatalf("%+v after %d questions", d, len(p.asked))
	}
}
