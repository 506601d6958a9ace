package approval_test

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"testing"
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

// fataler is what a world needs of a test, so that a property check has one too.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// world is a store with turns of several people in it, and a gate over it.
type world struct {
	store    *memory.Store
	ids      *id.Source
	clock    func() time.Time
	resolver *authority.Resolver
}

func newWorld(clock func() time.Time, entropy io.Reader) *world {
	w := &world{clock: clock, ids: id.NewSource(clock, entropy)}
	w.store = memory.New(memory.Config{Clock: clock, IDs: w.ids})
	w.resolver = authority.NewResolver(w.store, w.store, clock, w.ids)
	return w
}

func realWorld() *world { return newWorld(time.Now, rand.Reader) }

func talker(name string) principal.Facts {
	return principal.Facts{
		PrincipalID: "principal:conversation:chat:" + name, Authority: principal.Conversation,
		Channel: "chat", ConversationKey: "chat:dm:" + name,
	}
}

// admit starts a turn of f in a new session and binds it to a core.
func (w *world) admit(t fataler, f principal.Facts, core, revision string) binding.Turn {
	t.Helper()
	req, turnID := w.ids.Request(), w.ids.Turn()
	rec := func(k event.Kind) event.Record {
		return event.Record{ID: w.ids.Event(), At: w.clock(), Kind: k, Principal: f.PrincipalID}
	}
	got, err := w.store.Admit(context.Background(), turn.Admission{
		Request: req, Digest: "d", Turn: turnID, NewSession: w.ids.Session(), Selector: turn.Selector{Kind: turn.Fresh}, Owner: f,
		Core: core, Revision: revision, Trace: w.ids.Trace(), Input: "x", At: w.clock(),
		Claim: lease.Claim{Token: w.ids.Lease(), Epoch: w.ids.Epoch(), Expires: w.clock().Add(1000 * time.Hour)},
	}, []event.Record{rec(event.SessionCreated), rec(event.TurnStarted)})
	if err != nil || got.Disposition != turn.Admitted {
		t.Fatal(got.Disposition, err)
	}
	scope, err := w.resolver.Session(context.Background(), f, got.Session)
	if err != nil {
		t.Fatal(err)
	}
	token := binding.Token{ID: w.ids.Token(), Request: req, Turn: turnID, Session: got.Session}
	bound, err := binding.New(binding.Spec{
		Request: req, Turn: turnID, Session: got.Session, Principal: scope, Trace: w.ids.Trace(),
		Core:  binding.Core{ID: core, Revision: revision, Capabilities: capability.NewSnapshot()},
		Route: token, Admission: token, Cancellation: token,
	})
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

func (w *world) gate(change func(*approval.Config)) *approval.Gate {
	cfg := approval.Config{Journal: w.store, Clock: w.clock, IDs: w.ids}
	change(&cfg)
	return approval.NewGate(cfg)
}

// request is one call of a turn that an allowance for the session could cover.
func (w *world) request(b binding.Turn, rule string) approval.Request {
	return approval.Request{
		Turn: b, Effect: w.ids.Effect(), Tool: "files.write", Plugin: "files@1.0.0", Risk: rules.Medium,
		Why: "tool: own mode", Arguments: `{"path":"a"}`, Digest: "0123", Cacheable: true,
		Key: rules.Key{
			Principal: b.Principal().PrincipalID(), Session: string(b.Session()), Core: b.Core().ID,
			Fingerprint: rules.Fingerprint(b.Core().Revision), Rule: rule,
		},
	}
}

// crowd is a person at a prompt who is asked by many, and notices being asked twice at a time.
type crowd struct {
	mu      sync.Mutex
	asked   []approval.Question
	at      int
	crowded bool
	answer  func(context.Context, approval.Question) (approval.Answer, error)
}

func (c *crowd) Prompt(ctx context.Context, q approval.Question) (approval.Answer, error) {
	c.mu.Lock()
	c.asked = append(c.asked, q)
	c.at++
	c.crowded = c.crowded || c.at > 1
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.at--; c.mu.Unlock() }()
	return c.answer(ctx, q)
}

func (c *crowd) questions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

func grants(reach approval.Reach) func(context.Context, approval.Question) (approval.Answer, error) {
	return func(_ context.Context, q approval.Question) (approval.Answer, error) {
		return approval.Answer{State: approval.Allowed, Reach: reach, By: q.Principal}, nil
	}
}

// whenever waits for the context to end and then answers as if nothing had happened.
func whenever(ctx context.Context, q approval.Question) (approval.Answer, error) {
	<-ctx.Done()
	return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: q.Principal}, nil
}

// together runs n decisions at the same time and returns what became of each.
func together(n int, decide func(i int) approval.Decision) []approval.Decision {
	out := make([]approval.Decision, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { out[i] = decide(i) })
	}
	all.Wait()
	return out
}

func operator(t *testing.T, w *world) principal.Scope {
	t.Helper()
	scope, err := w.resolver.Operator(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return scope
}
