package prompt_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
	"github.com/b3abf3ee/portcullis/store/storetest"
)

// journal is what a test's store must be.
type journal interface {
	prompt.Journal
	turn.Journal
	StoreID() id.Store
}

// world is one session with a running turn.
type world struct {
	t       testing.TB
	store   journal
	ids     *id.Source
	clock   *storetest.Clock
	epoch   id.Epoch
	session id.Session
	turn    id.Turn
	claim   lease.Claim
	bound   binding.Turn
	writer  *writer

	conversation string // whose turns begin; empty: ann's
}

// writer is a summarizer that a test leads.
type writer struct {
	mu   sync.Mutex
	do   func(ctx context.Context, before string, messages []provider.Message, tokens int) (string, error)
	seen []string // what it was given, as text
}

func (*writer) Name() string { return "test/writer" }

func (w *writer) Summarize(ctx context.Context, before string, messages []provider.Message, tokens int) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, fmt.Sprintf("%s + %d", before, len(messages)))
	return w.do(ctx, before, messages, tokens)
}

func newWorld(t testing.TB) *world {
	clock := storetest.NewClock()
	ids := id.NewSource(clock.Now, rand.Reader)
	return worldOver(t, memory.New(memory.Config{Clock: clock.Now, IDs: ids}), clock, ids)
}

func worldOver(t testing.TB, store journal, clock *storetest.Clock, ids *id.Source) *world {
	t.Helper()
	w := &world{t: t, store: store, ids: ids, clock: clock, epoch: ids.Epoch(), writer: &writer{}}
	w.writer.do = func(context.Context, string, []provider.Message, int) (string, error) { return "what was said", nil }
	w.begin()
	return w
}

// begin starts a turn of the one conversation.
func (w *world) begin() {
	w.t.Helper()
	now, key := w.clock.Now(), cmp.Or(w.conversation, "chat:dm:ann")
	a := turn.Admission{
		Request: w.ids.Request(), Digest: "d", Turn: w.ids.Turn(), NewSession: w.ids.Session(), Selector: turn.Selector{Kind: turn.Bound},
		Core: "c", Revision: "r", Trace: w.ids.Trace(), Input: "x", At: now,
		Owner: principal.Facts{PrincipalID: "principal:ann", Authority: principal.Conversation, Channel: "chat", ConversationKey: key},
		Claim: lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: now.Add(24 * time.Hour)},
	}
	made := event.Record{ID: w.ids.Event(), At: now, Kind: event.SessionCreated}
	started := event.Record{ID: w.ids.Event(), At: now, Kind: event.TurnStarted}
	got, err := w.store.Admit(w.t.Context(), a, []event.Record{made, started})
	if err != nil || got.Disposition != turn.Admitted {
		w.t.Fatal(got.Disposition, err)
	}
	w.session, w.turn, w.claim = got.Session, a.Turn, got.Claim
	who, err := principal.NewIssuer(string(w.store.StoreID())).Issue(principal.Facts{
		PrincipalID: "principal:ann", Authority: principal.Conversation, Channel: "chat", ConversationKey: key,
		SessionID: string(w.session), AllowedSessions: []string{string(w.session)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	tok := binding.Token{ID: w.ids.Token(), Request: a.Request, Turn: a.Turn, Session: w.session}
	w.bound, err = binding.New(binding.Spec{
		Request: a.Request, Turn: a.Turn, Session: w.session, Principal: who, Trace: a.Trace,
		Core:  binding.Core{ID: "c", Revision: "r", Capabilities: capability.Snapshot{}},
		Route: tok, Admission: tok, Cancellation: tok,
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) end() {
	w.t.Helper()
	at := w.clock.Now()
	how, err := w.store.Finish(w.t.Context(), turn.Terminal{Turn: w.turn, Session: w.session, Claim: w.claim, Outcome: turn.Completed, Steps: 1, At: at},
		event.Record{ID: w.ids.Event(), At: at, Kind: event.TurnFinished})
	if err != nil || how != turn.Written {
		w.t.Fatal(how, err)
	}
}

// say stores messages and ends the turn, so that they are history for the next.
func (w *world) say(messages ...provider.Message) {
	w.t.Helper()
	for len(messages) > 0 {
		n := min(len(messages), 200)
		var stored []turn.Message
		for _, m := range messages[:n] {
			body, err := json.Marshal(m)
			if err != nil {
				w.t.Fatal(err)
			}
			stored = append(stored, turn.Message{ID: w.ids.Message(), Turn: w.turn, Role: string(m.Role), Body: body, At: w.clock.Now()})
		}
		if how, err := w.store.Append(w.t.Context(), w.turn, w.claim, stored); err != nil || how != turn.Written {
			w.t.Fatal(how, err)
		}
		messages = messages[n:]
	}
	w.end()
	w.begin()
}

func (w *world) manager(over ...prompt.Journal) *prompt.Manager {
	var j prompt.Journal = w.store
	if len(over) > 0 {
		j = over[0]
	}
	return prompt.New(prompt.Config{
		Journal: j, IDs: w.ids, Epoch: w.epoch, Clock: w.clock.Now,
		Wait: func(_ context.Context, d time.Duration) { w.clock.Advance(d) },
	})
}

func model(window int, by prompt.Summarizer) prompt.Model {
	return prompt.Model{Name: "test/model", Summary: by, Limits: provider.Limits{
		ContextWindow: window, MaxOutput: window / 8, SafetyMargin: window / 50, Tokenizer: provider.TokenizerO200k,
	}}
}

func (w *world) open(m prompt.Model, over ...prompt.Journal) *prompt.Conversation {
	w.t.Helper()
	c, err := w.manager(over...).Open(w.t.Context(), w.bound, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func step(n int, current ...provider.Message) prompt.Step {
	if len(current) == 0 {
		current = []provider.Message{provider.User("now")}
	}
	return prompt.Step{Number: n, System: "You are a test.", Current: current}
}

func (w *world) prepare(c *prompt.Conversation, s prompt.Step) prompt.Prepared {
	w.t.Helper()
	p, err := c.Prepare(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// exchange is one old turn: a question, a call, its result, an answer.
func exchange(n, resultBytes int) []provider.Message {
	call := fmt.Sprintf("c%d", n)
	return []provider.Message{
		provider.User(fmt.Sprintf("question %d", n)),
		provider.Assistant(provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: call, Name: "calc-eval", Arguments: json.RawMessage(`{}`)}}),
		provider.ToolResults(provider.ToolResult{CallID: call, Content: strings.Repeat("some words ", resultBytes/11)}),
		provider.Assistant(provider.Text(fmt.Sprintf("answer %d: ", n) + strings.Repeat("it is so. ", 40))),
	}
}

func exchanges(n, resultBytes int) (all []provider.Message) {
	for i := range n {
		all = append(all, exchange(i, resultBytes)...)
	}
	return all
}
