package approval_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// One answer for the session is one question, however many equal requests come at once.
func TestEqualRequestsAreOneQuestion(t *testing.T) {
	w := realWorld()
	b := w.admit(t, talker("a"), "assistant", "r1")
	p := &crowd{answer: grants(approval.ForSession)}
	g := w.gate(func(c *approval.Config) { c.Prompter = p })
	cached := 0
	for _, d := range together(24, func(int) approval.Decision { return g.Decide(context.Background(), w.request(b, "rule")) }) {
		if !d.Allowed {
			t.Errorf("%+v", d)
		}
		if d.Cached {
			cached++
		}
	}
	if p.questions() != 1 || cached != 23 {
		t.Fatalf("%d questions, %d answered by an earlier one", p.questions(), cached)
	}
	if allowed, lanes, under, wake := g.Left(); allowed != 1 || lanes+under+wake != 0 {
		t.Fatalf("left: %d allowances, %d lanes, %d decisions, %d listeners", allowed, lanes, under, wake)
	}
}

// An answer for once is good for one: everybody asks, and a person is asked by one at a time.
func TestOnceIsAskedByEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := realWorld()
		b := w.admit(t, talker("a"), "assistant", "r1")
		p := &crowd{answer: func(ctx context.Context, q approval.Question) (approval.Answer, error) {
			time.Sleep(time.Second) // the bubble's clock: long enough for whoever is let in beside
			return grants(approval.Once)(ctx, q)
		}}
		g := w.gate(func(c *approval.Config) { c.Prompter = p })
		for i, d := range together(12, func(i int) approval.Decision {
			req := w.request(b, "rule")
			req.Cacheable = i%2 == 0 // also those that may not be remembered
			return g.Decide(context.Background(), req)
		}) {
			if !d.Allowed || d.Cached {
				t.Errorf("%d: %+v", i, d)
			}
		}
		if p.questions() != 12 || p.crowded {
			t.Fatalf("%d questions, two at a time: %v", p.questions(), p.crowded)
		}
	})
}

func TestACancelledWaiterLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := realWorld()
		b := w.admit(t, talker("a"), "assistant", "r1")
		release := make(chan struct{})
		p := &crowd{answer: func(_ context.Context, q approval.Question) (approval.Answer, error) {
			<-release
			return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: q.Principal}, nil
		}}
		g := w.gate(func(c *approval.Config) { c.Prompter = p })
		first, waiter := make(chan approval.Decision, 1), make(chan approval.Decision, 1)
		go func() { first <- g.Decide(context.Background(), w.request(b, "rule")) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		go func() { waiter <- g.Decide(ctx, w.request(b, "rule")) }()
		synctest.Wait()
		cancel()
		if d := <-waiter; d.Allowed || d.Reason != approval.ReasonInterrupt || d.Approval != "" {
			t.Fatalf("%+v", d)
		}
		close(release)
		if d := <-first; !d.Allowed {
			t.Fatalf("%+v", d)
		}
		if d := g.Decide(context.Background(), w.request(b, "rule")); !d.Cached {
			t.Fatalf("%+v", d)
		}
		if _, lanes, under, wake := g.Left(); lanes+under+wake != 0 {
			t.Fatalf("left: %d lanes, %d decisions, %d listeners", lanes, under, wake)
		}
	})
}

// Whoever came before a revocation is denied, whatever the answer says that comes after it; whoever it does not concern
// is not.
func TestARevocationBeatsTheAnswerAndItsWaiters(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*approval.Gate, approval.Request)
		reason string
	}{
		"the session ends":    {func(g *approval.Gate, r approval.Request) { g.EndSession(r.Turn.Session()) }, approval.ReasonRevoked},
		"the core changes":    {func(g *approval.Gate, r approval.Request) { g.EndCore(r.Turn.Core().ID) }, approval.ReasonRevoked},
		"the host shuts down": {func(g *approval.Gate, _ approval.Request) { g.Close() }, approval.ReasonClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := realWorld()
				mine, other := w.admit(t, talker("a"), "assistant", "r1"), w.admit(t, talker("b"), "another", "r1")
				p := &crowd{answer: whenever}
				g := w.gate(func(c *approval.Config) { c.Prompter = p })
				done := make(chan approval.Decision, 8)
				for i := range 4 {
					go func() {
						req := w.request(mine, "rule")
						req.Cacheable = i != 3 // one that could not have been remembered
						done <- g.Decide(context.Background(), req)
					}()
				}
				theirs := make(chan approval.Decision, 1)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				go func() { theirs <- g.Decide(ctx, w.request(other, "rule")) }()
				synctest.Wait()
				c.end(g, w.request(mine, "rule"))
				for range 4 {
					if d := <-done; d.Allowed || d.Reason != c.reason {
						t.Errorf("%+v, want %s", d, c.reason)
					}
				}
				synctest.Wait()
				select {
				case d := <-theirs:
					if c.reason != approval.ReasonClosed {
						t.Errorf("somebody else's question ended too: %+v", d)
					}
				default:
					if c.reason == approval.ReasonClosed {
						t.Error("a question outlived the host")
					}
				}
				cancel()
				if allowed, lanes, _, _ := g.Left(); allowed != 0 || lanes > 1 {
					t.Errorf("left: %d allowances, %d lanes", allowed, lanes)
				}
				synctest.Wait()
			})
		})
	}
}

func TestAClosedGateAsksNobody(t *testing.T) {
	w := realWorld()
	b := w.admit(t, talker("a"), "assistant", "r1")
	p := &crowd{answer: grants(approval.ForSession)}
	g := w.gate(func(c *approval.Config) { c.Prompter = p })
	g.Decide(t.Context(), w.request(b, "rule"))
	g.Close()
	if d := g.Decide(t.Context(), w.request(b, "rule")); d.Allowed || d.Reason != approval.ReasonClosed || p.questions() != 1 {
		t.Fatalf("%+v after %d questions", d, p.questions())
	}
}

// An allowance is looked up with each use, so that one that any process took back is gone; and it is nowhere but in
// memory, so that the next host asks again.
func TestAnAllowanceEndsWithItsRevocationAndWithItsHost(t *testing.T) {
	w := realWorld()
	b := w.admit(t, talker("a"), "assistant", "r1")
	p := &crowd{answer: grants(approval.ForSession)}
	g := w.gate(func(c *approval.Config) { c.Prompter = p })
	from := g.Decide(t.Context(), w.request(b, "rule")).Approval
	if d := g.Decide(t.Context(), w.request(b, "rule")); !d.Cached || d.Approval != from {
		t.Fatalf("%+v", d)
	}
	elsewhere := w.gate(func(*approval.Config) {}) // as `portcullis approvals revoke` has one
	if _, how, err := elsewhere.Revoke(t.Context(), operator(t, w), from, "enough\x1b[2J"); how != approval.Recorded || err != nil {
		t.Fatal(how, err)
	}
	second := g.Decide(t.Context(), w.request(b, "rule"))
	if second.Cached || !second.Allowed || p.questions() != 2 {
		t.Fatalf("%+v after %d questions", second, p.questions())
	}
	if _, how, err := g.Revoke(t.Context(), b.Principal(), second.Approval, ""); how != approval.Recorded || err != nil {
		t.Fatal(how, err)
	}
	if allowed, _, _, _ := g.Left(); allowed != 0 {
		t.Fatalf("%d allowances after the revocation", allowed)
	}
	g.Decide(t.Context(), w.request(b, "rule"))
	restarted := w.gate(func(c *approval.Config) { c.Prompter = p })
	if d := restarted.Decide(t.Context(), w.request(b, "rule")); d.Cached || p.questions() != 4 {
		t.Fatalf("%+v after %d questions", d, p.questions())
	}
	recs, err := w.store.Events(t.Context(), operator(t, w), turn.EventQuery{Kind: event.ApprovalRevoked, Limit: 10})
	if err != nil || len(recs) != 2 || recs[1].Field("reason") != "enough‹U+001B›[2J" {
		t.Fatalf("%+v %v", recs, err)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	w := realWorld()
	b := w.admit(t, talker("a"), "assistant", "r1")
	p := &crowd{answer: grants(approval.ForSession)}
	g := w.gate(func(c *approval.Config) { c.Prompter = p })
	for i := range approval.MaxAllowances + 10 {
		if d := g.Decide(t.Context(), w.request(b, fmt.Sprint(i))); !d.Allowed {
			t.Fatalf("%d: %+v", i, d)
		}
	}
	if allowed, _, _, _ := g.Left(); allowed != approval.MaxAllowances {
		t.Fatalf("%d allowances are remembered", allowed)
	}
}

// post is a courier: it delivers to a place where people are, and waits for nothing.
type post struct {
	delivered chan approval.Question
	err       error
}

func (p *post) Deliver(_ context.Context, q approval.Question) error {
	if p.err == nil {
		p.delivered <- q
	}
	return p.err
}

// A question that was delivered elsewhere is decided by its id, by who may: another member of the group leaves it as it
// is and is on record.
func TestADeliveredQuestionIsDecidedByIdAndByWhoMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := realWorld()
		b := w.admit(t, talker("a"), "assistant", "r1")
		mail := &post{delivered: make(chan approval.Question, 1)}
		g := w.gate(func(c *approval.Config) { c.Courier = mail })
		done := make(chan approval.Decision, 1)
		began := time.Now()
		go func() { done <- g.Decide(context.Background(), w.request(b, "rule")) }()
		q := <-mail.delivered
		if len(q.ID) > 32 {
			t.Errorf("the id %s has %d bytes; a chat button has room for 32", q.ID, len(q.ID))
		}
		member := talker("a")
		member.PrincipalID = "principal:conversation:chat:b" // of the same group
		member.SessionID, member.AllowedSessions = string(b.Session()), []string{string(b.Session())}
		someone, err := principal.NewIssuer(string(w.store.StoreID())).Issue(member)
		if err != nil {
			t.Fatal(err)
		}
		if _, how, err := g.Record(t.Context(), someone, q.ID, true, approval.Once, "yes"); how != approval.NotApprover || err != nil {
			t.Fatal(how, err)
		}
		stranger := w.admit(t, talker("c"), "assistant", "r1")
		if _, how, err := g.Record(t.Context(), stranger.Principal(), q.ID, true, approval.Once, "yes"); how != approval.NotFound || err != nil {
			t.Fatal(how, err)
		}
		synctest.Wait()
		select {
		case d := <-done:
			t.Fatalf("somebody else's answer decided: %+v", d)
		default:
		}
		refused, err := w.store.Events(t.Context(), operator(t, w), turn.EventQuery{Kind: event.ApprovalRefused, Limit: 10})
		if err != nil || len(refused) != 1 || refused[0].Principal != member.PrincipalID {
			t.Fatalf("%+v %v", refused, err)
		}
		if _, how, err := g.Record(t.Context(), b.Principal(), q.ID, true, approval.ForSession, "looks right"); how != approval.Recorded || err != nil {
			t.Fatal(how, err)
		}
		if d := <-done; !d.Allowed || d.By != b.Principal().PrincipalID() || time.Since(began) != 0 {
			t.Fatalf("%+v after %s", d, time.Since(began)) // told, not found by looking
		}
		if d := g.Decide(t.Context(), w.request(b, "rule")); !d.Cached {
			t.Fatalf("%+v", d)
		}
	})
}

func TestAQuestionThatCannotBeDeliveredIsDenied(t *testing.T) {
	w := realWorld()
	b := w.admit(t, talker("a"), "assistant", "r1")
	g := w.gate(func(c *approval.Config) { c.Courier = &post{err: errors.New("the chat is down")}; c.Wait = time.Hour })
	d := g.Decide(t.Context(), w.request(b, "rule"))
	q, found, err := w.store.Question(t.Context(), b.Principal(), d.Approval)
	if d.Allowed || d.Reason != approval.ReasonNotDelivered || !found || err != nil || q.State != approval.Denied {
		t.Fatalf("%+v %+v %v", d, q, err)
	}
}

// A prompt ends when the question was answered elsewhere, in this process or another.
func TestAPromptEndsWhenItIsAnsweredElsewhere(t *testing.T) {
	for name, same := range map[string]bool{"by this gate": true, "by another process": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := realWorld()
				b := w.admit(t, talker("a"), "assistant", "r1")
				asked := make(chan id.Approval, 1)
				g := w.gate(func(c *approval.Config) {
					c.Prompter = &crowd{answer: func(ctx context.Context, q approval.Question) (approval.Answer, error) {
						asked <- q.ID
						<-ctx.Done()
						return approval.Answer{}, context.Cause(ctx)
					}}
				})
				done := make(chan approval.Decision, 1)
				go func() { done <- g.Decide(context.Background(), w.request(b, "rule")) }()
				by := g
				if !same {
					by = w.gate(func(*approval.Config) {})
				}
				if _, how, err := by.Record(t.Context(), operator(t, w), <-asked, true, approval.Once, ""); how != approval.Recorded || err != nil {
					t.Fatal(how, err)
				}
				if d := <-done; !d.Allowed || d.By != me {
					t.Fatalf("%+v", d)
				}
			})
		})
	}
}

// Who answers at a prompt answers for the turn's own principal and nobody else.
func TestAnAnswerInAnothersNameIsADenial(t *testing.T) {
	w := realWorld()
	b := w.admit(t, talker("a"), "assistant", "r1")
	g := w.gate(func(c *approval.Config) {
		c.Prompter = &crowd{answer: func(context.Context, approval.Question) (approval.Answer, error) {
			return approval.Answer{State: approval.Allowed, Reach: approval.Once, By: me}, nil
		}}
	})
	d := g.Decide(t.Context(), w.request(b, "rule"))
	q, _, err := w.store.Question(t.Context(), b.Principal(), d.Approval)
	if d.Allowed || d.Reason != approval.ReasonAnswerOdd || err != nil || q.State != approval.Denied {
		t.Fatalf("%+v %+v %v", d, q, err)
	}
}

// An answer that comes after the call's own time would allow nothing, so a question does not stand longer than that.
func TestAQuestionStandsNoLongerThanItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := realWorld()
		b := w.admit(t, talker("a"), "assistant", "r1")
		g := w.gate(func(c *approval.Config) { c.Prompter = &crowd{answer: whenever} })
		ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
		defer stop()
		d := g.Decide(ctx, w.request(b, "rule"))
		q, _, err := w.store.Question(t.Context(), b.Principal(), d.Approval)
		if err != nil || d.Allowed || d.Reason != approval.ReasonExpired || q.State != approval.Expired || q.Expires.Sub(q.Asked) != 3*time.Second {
			t.Fatalf("%+v %+v %v", d, q, err)
		}
		if d := g.Decide(ctx, w.request(b, "rule")); d.Allowed || d.Approval != "" {
			t.Fatalf("%+v", d)
		}
	})
}

// What a question holds is safe on every surface, because it is made so before it is stored.
func TestAQuestionHoldsNothingThatAScreenActsOn(t *testing.T) {
	w := realWorld()
	b := w.admit(t, talker("a"), "assistant", "r1")
	req := w.request(b, "rule\u202e")
	bad := "a\x1b[2J\rb\u200b\u3164\U000e0100é日\xff"
	req.Tool, req.Plugin, req.Why, req.Needs = bad, bad, bad, []string{bad}
	req.Arguments, req.Plan = `{"k":"`+bad+`"}`, `{"argv":["`+bad+`"]}`
	d := w.gate(func(*approval.Config) {}).Decide(t.Context(), req)
	q, _, err := w.store.Question(t.Context(), b.Principal(), d.Approval)
	const text, json = "a‹U+001B›[2J‹U+000D›b‹U+200B›‹U+3164›‹U+E0100›é‹U+65E5›‹0xFF›", `a\u001b[2J b\u200b\u3164\udb40\udd00é\u65e5‹0xFF›`
	if err != nil || q.Tool != text || q.Plugin != text || q.Why != text || q.Needs[0] != text || q.RuleKey != "rule‹U+202E›" ||
		q.Arguments != `{"k":"`+json+`"}` || q.Plan != `{"argv":["`+json+`"]}` {
		t.Fatalf("%+v %v", q, err)
	}
}

// during is a journal in which something happens while an answer is being stored.
type during struct {
	approval.Journal
	do func()
}

func (d during) Decide(ctx context.Context, by principal.Scope, a id.Approval, ans approval.Answer, now time.Time, r event.Record) (approval.Question, approval.Recording, error) {
	d.do()
	return d.Journal.Decide(ctx, by, a, ans, now, r)
}

// There is no moment in which a revocation is missed: not that in which the answer is on its way to the store either.
func TestARevocationWhileTheAnswerIsStoredDenies(t *testing.T) {
	w := realWorld()
	b := w.admit(t, talker("a"), "assistant", "r1")
	var g *approval.Gate
	g = w.gate(func(c *approval.Config) {
		c.Prompter = &crowd{answer: grants(approval.ForSession)}
		c.Journal = during{w.store, func() { g.EndSession(b.Session()) }}
	})
	d := g.Decide(t.Context(), w.request(b, "rule"))
	if allowed, _, _, _ := g.Left(); d.Allowed || d.Reason != approval.ReasonRevoked || allowed != 0 {
		t.Fatalf("%+v, %d allowances", d, allowed)
	}
}

// A turn waits for a person also while the prompt is another's, and while what it waits for is one allowance's to cover; one that
// an allowance covers already does not.
func TestWhoeverWaitsForAPersonIsSaidTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := realWorld()
		a, b := w.admit(t, talker("a"), "assistant", "r1"), w.admit(t, talker("b"), "assistant", "r1")
		release := make(chan struct{})
		p := &crowd{answer: func(ctx context.Context, q approval.Question) (approval.Answer, error) {
			<-release
			return grants(approval.ForSession)(ctx, q)
		}}
		var mu sync.Mutex // guards what follows
		now, ever := map[id.Turn]int{}, map[id.Turn]int{}
		g := w.gate(func(c *approval.Config) {
			c.Prompter = p
			c.Waits = func(_ context.Context, t id.Turn) func() {
				mu.Lock()
				defer mu.Unlock()
				now[t]++
				ever[t]++
				return func() { mu.Lock(); defer mu.Unlock(); now[t]-- }
			}
		})
		var all sync.WaitGroup
		for _, of := range []binding.Turn{a, a, b} {
			all.Go(func() { g.Decide(t.Context(), w.request(of, "rule")) })
			synctest.Wait()
		}
		mu.Lock()
		if p.questions() != 1 || now[a.ID()] != 2 || now[b.ID()] != 1 {
			t.Errorf("with one question shown: %v", now)
		}
		mu.Unlock()
		close(release)
		all.Wait()
		if d := g.Decide(t.Context(), w.request(a, "rule")); !d.Cached {
			t.Errorf("%+v", d)
		}
		if now[a.ID()] != 0 || now[b.ID()] != 0 || ever[a.ID()] != 2 || ever[b.ID()] != 1 {
			t.Errorf("at last: %v of %v", now, ever)
		}
	})
}

// Where nobody can be asked nobody waits.
func TestWithoutARouteNobodyWaits(t *testing.T) {
	w := realWorld()
	g := w.gate(func(c *approval.Config) {
		c.Waits = func(context.Context, id.Turn) func() {
			t.Error("it waits")
			return func() {}
		}
	})
	if d := g.Decide(t.Context(), w.request(w.admit(t, talker("a"), "assistant", "r1"), "rule")); d.Reason != approval.ReasonNoRoute {
		t.Errorf("%+v", d)
	}
}
