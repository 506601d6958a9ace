package crash

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	rules "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// childEnv makes the test binary run the turn instead of the tests. Its value is the database.
const childEnv = "PORTCULLIS_CRASH_CHILD"

// doesEnv names what else the child does than all it can: the turn alone, recover, or migrate.
const doesEnv = "PORTCULLIS_CRASH_DOES"

// keyEnv is another key for the child to ask under.
const keyEnv = "PORTCULLIS_CRASH_KEY"

// requestKey is what every child asks under that is not told another key: a second child asks for the same turn again.
const requestKey = id.Request("req_the_one")

func TestMain(m *testing.M) {
	conformancetest.BeCompiler()
	path := os.Getenv(childEnv)
	if path == "" {
		os.Exit(runTests(m))
	}
	// strace counts the system calls of each thread by itself: those of an upgrade are all on this one.
	runtime.LockOSThread()
	if err := beStopped(os.Getenv(stopsEnv)); err != nil {
		fmt.Fprintln(os.Stderr, "stop at system calls:", err)
		os.Exit(1)
	}
	program := map[string]func(string) error{
		"": runChild, "turn": runTurn, "recover": runRecovery, "migrate": func(path string) error { return sqlite.Migrate(context.Background(), path) },
	}[os.Getenv(doesEnv)]
	if err := program(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runTests keeps what the tests and their children put into the temporary folder, programs and databases, in one of its own
// that is gone at the end.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "portcullis-crash-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer visited.print()
	return m.Run()
}

// tell writes one line into the book. One write of a line this short is whole or not there.
func tell(words ...any) { _, _ = os.Stdout.WriteString(fmt.Sprintln(words...)) }

// world is a host over a database, without a sandbox: what it does outside is tell.
type world struct {
	store *sqlite.Store
	ids   *id.Source
	epoch id.Epoch
	turns *turn.Execution
	auth  *authority.Resolver
	by    principal.Scope
	tell  func(words ...any)
}

// openWorld opens the database as a host does, recovery included.
func openWorld(ctx context.Context, path string) (*world, error) {
	w := &world{ids: id.NewSource(time.Now, rand.Reader), tell: func(...any) {}}
	w.epoch = w.ids.Epoch()
	var err error
	if w.store, err = sqlite.Open(ctx, sqlite.Config{Path: path, Clock: time.Now, IDs: w.ids}); err != nil {
		return nil, err
	}
	w.auth = authority.NewResolver(w.store, w.store, time.Now, w.ids)
	gate := approval.NewGate(approval.Config{Journal: w.store, Prompter: yes{}, Clock: time.Now, IDs: w.ids})
	w.turns = turn.New(turn.Config{
		Journal: w.store, Planner: w, Authority: w.auth, IDs: w.ids, Epoch: w.epoch, Clock: time.Now,
		Context: prompt.New(prompt.Config{Journal: w.store, IDs: w.ids, Epoch: w.epoch, Clock: time.Now}),
		Effects: effect.NewRuntime(effect.Config{Journal: w.store, Grants: w.store, Approver: gate, IDs: w.ids, Clock: time.Now}),
	})
	return w, nil
}

func (w *world) close() error {
	w.turns.Close()
	return w.store.Close()
}

// yes allows everything that it is asked.
type yes struct{}

func (yes) Prompt(_ context.Context, q approval.Question) (approval.Answer, error) {
	return approval.Answer{State: approval.Allowed, Reach: approval.Once, By: q.Principal}, nil
}

// script is a model that asks for two effects in turn and then answers.
type script struct{}

func (script) Name() string { return "crash/script" }

func (script) Limits() provider.Limits {
	return provider.Limits{ContextWindow: 100_000, MaxOutput: 1000, SafetyMargin: 1000}
}

func (script) Generate(_ context.Context, req provider.Request, _ func(provider.Event)) (provider.Response, error) {
	asked := 0
	for _, m := range req.Messages[len(req.Messages)-min(len(req.Messages), 5):] {
		asked += len(m.Calls())
	}
	used := provider.Usage{Input: 100, Output: 10, Reported: true}
	if asked >= 2 || req.Messages[len(req.Messages)-1].Text() == "quietly" {
		return provider.Response{Parts: []provider.Part{provider.Text("done")}, FinishReason: provider.FinishStop, Usage: used}, nil
	}
	return provider.Response{FinishReason: provider.FinishToolCalls, Usage: used, Parts: []provider.Part{{Kind: provider.PartToolCall, Call: provider.ToolCall{
		ID: fmt.Sprint("c", asked+1), Name: provider.WireName("world.act"), Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, asked+1)),
	}}}}, nil
}

// Plan plans every turn alike.
func (w *world) Plan(context.Context, turn.Request) (turn.Plan, error) {
	all, err := capability.ParseSnapshot("tool.call:*")
	return turn.Plan{
		Core:   binding.Core{ID: "assistant", Revision: "sha256:r", Capabilities: all},
		System: "You are a test.", Model: script{}, Setup: effect.Setup{Sources: []effect.Source{w}},
	}, err
}

// Tools are one that acts outside and asks before it does.
func (w *world) Tools(context.Context, binding.Turn) ([]effect.Tool, error) {
	need, err := capability.Parse("tool.call:world.act")
	return []effect.Tool{{
		Name: "world.act", Description: "acts", InputSchema: json.RawMessage(`{"type":"object"}`), Needs: []capability.Name{need},
		Risk: rules.High, Approval: rules.Prompt, Recovery: "manual", Origin: effect.Builtin, Provenance: "builtin:world.act", Adapter: w,
	}}, err
}

// Invoke is the effect: it happens in the book, and keeps a value as a plugin would.
func (w *world) Invoke(ctx context.Context, c effect.Call) effect.Outcome {
	w.tell("did", c.Effect)
	version, ok, err := w.store.Set(ctx, values(c.Turn.ID()), "n", []byte(c.Effect), nil)
	if err != nil || !ok {
		return effect.Outcome{Status: effect.Failed, Reason: "kv", Detail: fmt.Sprint(err)}
	}
	w.tell("kept", c.Effect, version)
	return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{"acted":true}`)}
}

// values are what the tool keeps.
func values(of id.Turn) sandbox.KVScope {
	return sandbox.KVScope{Plugin: "world", Principal: person().PrincipalID, Turn: of}
}

func person() principal.Facts {
	return principal.Facts{
		PrincipalID: "principal:conversation:chat:ann", Authority: principal.Conversation, Channel: "chat", ConversationKey: "chat:dm:ann",
	}
}

// ask runs the turn and tells what was acknowledged.
func (w *world) ask(ctx context.Context, key id.Request, input string) (turn.Result, error) {
	res, err := w.turns.Run(ctx, turn.Request{
		Key: key, Actor: person(), Core: "assistant", Input: input, Selector: turn.Selector{Kind: turn.Bound},
	}, turn.Observer{
		Started: func(t id.Turn, s id.Session) { w.tell("admitted", t, s) },
		Effect:  func(r effect.Result) { w.tell("effect", r.ID, r.Status, r.Started) },
	})
	if err == nil {
		w.tell("ended", res.Turn(), res.Outcome())
	}
	return res, err
}

// runChild recovers, runs the one turn, and then uses every other write of the store once, so that each has its points.
func runChild(path string) error { return runAndThen(path, (*world).others) }

// runTurn recovers and runs the one turn.
func runTurn(path string) error {
	return runAndThen(path, func(*world, context.Context, turn.Result) error { return nil })
}

func runAndThen(path string, more func(*world, context.Context, turn.Result) error) error {
	ctx := context.Background()
	w, err := openWorld(ctx, path)
	if err != nil {
		return err
	}
	w.tell = tell
	if _, err := w.store.Recover(ctx, w.epoch, time.Now()); err != nil {
		return err
	}
	if _, err := w.store.RecoverDeliveries(ctx, w.epoch, time.Now()); err != nil {
		return err
	}
	if _, err := w.store.RecoverTasks(ctx, w.epoch, time.Now()); err != nil {
		return err
	}
	key := requestKey
	if other := os.Getenv(keyEnv); other != "" {
		key = id.Request(other)
	}
	res, err := w.ask(ctx, key, "act twice")
	if err != nil {
		return errors.Join(err, w.close())
	}
	return errors.Join(more(w, ctx, res), w.close())
}

// runRecovery is what a host does when it starts.
func runRecovery(path string) error {
	ctx := context.Background()
	w, err := openWorld(ctx, path)
	if err != nil {
		return err
	}
	_, err = w.store.Recover(ctx, w.epoch, time.Now())
	if err == nil {
		_, err = w.store.RecoverDeliveries(ctx, w.epoch, time.Now())
	}
	if err == nil {
		_, err = w.store.RecoverTasks(ctx, w.epoch, time.Now())
	}
	return errors.Join(err, w.close())
}

func (w *world) record(k event.Kind) event.Record {
	return event.Record{ID: w.ids.Event(), At: time.Now(), Kind: k, Principal: authority.OperatorID}
}

// others are the writes that a turn does not need.
func (w *world) others(ctx context.Context, res turn.Result) error {
	by, err := w.auth.Operator(ctx, "crash test") // Record
	if err != nil {
		return err
	}
	grant, err := capability.ParseGrant("net.fetch:example.com")
	if err != nil {
		return err
	}
	if _, err := w.store.GrantPlugin(ctx, by, "world", grant, w.record(event.PluginInstalled)); err != nil {
		return err
	}
	if _, _, err := w.store.Turn(ctx, by, "trn_nobody"); err != nil { // a denied lookup
		return err
	}
	questions, err := w.store.Questions(ctx, by, "", 0, 1)
	if err != nil || len(questions) != 1 {
		return fmt.Errorf("%d questions: %w", len(questions), err)
	}
	if _, _, err := w.store.Revoke(ctx, by, questions[0].ID, time.Now(), w.record(event.ApprovalDecided)); err != nil {
		return err
	}
	if how, err := w.store.EndSession(ctx, by, res.Session(), w.record(event.SessionEnded)); err != nil || how != turn.Ended {
		return fmt.Errorf("end the session: %q, %w", how, err)
	}
	if _, _, err := w.store.Legacy(ctx, by, turn.LegacyQuery{Session: res.Session(), Reason: "crash test"}); err != nil {
		return err
	}
	if err := w.deliver(ctx); err != nil {
		return err
	}
	// A second turn, by hand, for the writes that the first had no use for.
	now := time.Now()
	a := turn.Admission{
		Request: w.ids.Request(), Digest: "d", Turn: w.ids.Turn(), NewSession: w.ids.Session(), Selector: turn.Selector{Kind: turn.Bound},
		Core: "assistant", Revision: "r", Trace: w.ids.Trace(), Input: "by hand", At: now, Owner: person(),
		Claim: lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: now.Add(time.Minute)},
	}
	made, started := w.record(event.SessionCreated), w.record(event.TurnStarted)
	got, err := w.store.Admit(ctx, a, []event.Record{made, started})
	if err != nil || got.Disposition != turn.Admitted {
		return fmt.Errorf("admit by hand: %q, %w", got.Disposition, err)
	}
	if _, err := w.store.Delete(ctx, values(a.Turn), "n", nil); err != nil {
		return err
	}
	w.tell("dropped", "n")
	if how, err := w.store.RequestCancel(ctx, by, a.Turn, w.record(event.TurnCancelAsked)); err != nil || how != turn.CancelNoted {
		return fmt.Errorf("ask for the end by hand: %q, %w", how, err)
	}
	ends := w.record(event.TurnCancelAsked)
	ends.Principal, ends.Turn = person().PrincipalID, a.Turn
	if how, err := w.store.NoteCancel(ctx, a.Turn, got.Claim, ends); err != nil || how != turn.Written {
		return fmt.Errorf("note the end by hand: %q, %w", how, err)
	}
	if how, err := w.store.Extend(ctx, got.Session, got.Claim, now.Add(2*time.Minute)); err != nil || how != turn.Written {
		return fmt.Errorf("extend: %q, %w", how, err)
	}
	body, err := json.Marshal(provider.User("by hand"))
	if err != nil {
		return err
	}
	m := turn.Message{ID: w.ids.Message(), Turn: a.Turn, Role: "user", Body: body, At: now}
	if how, err := w.store.Append(ctx, a.Turn, got.Claim, []turn.Message{m}); err != nil || how != turn.Written {
		return fmt.Errorf("append: %q, %w", how, err)
	}
	// An effect by hand whose end nobody writes, so that its turn leaves it uncertain: the operator settles it below.
	intent := effect.Started{
		Effect: w.ids.Effect(), Turn: a.Turn, Session: got.Session, Tool: "world.act", Recovery: "manual", Digest: "d",
		Arguments: json.RawMessage(`{}`), At: now,
	}
	if how, err := w.store.EffectStarted(ctx, intent, w.record(event.EffectStarted)); err != nil || how != effect.Begun {
		return fmt.Errorf("start by hand: %q, %w", how, err)
	}
	told := intent
	told.Effect, told.Recovery, told.Plugin = w.ids.Effect(), "reconcile", "world@1.0.0"
	if how, err := w.store.EffectStarted(ctx, told, w.record(event.EffectStarted)); err != nil || how != effect.Begun {
		return fmt.Errorf("start by hand: %q, %w", how, err)
	}
	writer := lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: now.Add(time.Minute)}
	for revision := range int64(2) { // one summary that comes about, one that does not
		if how, err := w.store.LeaseCompaction(ctx, got.Session, writer, revision); err != nil || how != prompt.Acquired {
			return fmt.Errorf("lease the compaction: %q, %w", how, err)
		}
		if revision > 0 {
			break
		}
		sum := prompt.Summary{Text: "by hand", Cutoff: m.ID, Model: "test", At: now}
		if ok, err := w.store.CommitSummary(ctx, got.Session, writer, revision, sum); err != nil || !ok {
			return fmt.Errorf("commit the summary: %v, %w", ok, err)
		}
	}
	if err := w.store.ReleaseCompaction(ctx, got.Session, writer, time.Time{}); err != nil {
		return err
	}
	if err := w.tasks(ctx, by, a.Turn, got.Session, got.Claim); err != nil {
		return err
	}
	end := turn.Terminal{
		Turn: a.Turn, Session: got.Session, Claim: got.Claim, Outcome: turn.Completed, Reply: "by hand", At: now,
		Deliveries: []turn.Delivery{{ID: w.ids.Delivery(), Channel: person().Channel, Conversation: person().ConversationKey, Body: "by hand"}},
	}
	ended := w.record(event.TurnFinished)
	ended.Turn, ended.Session = a.Turn, got.Session
	if how, err := w.store.Finish(ctx, end, ended); err != nil || how != turn.Written {
		return fmt.Errorf("finish: %q, %w", how, err)
	}
	w.tell("ended", a.Turn, turn.Completed)
	as := effect.Resolution{Verdict: effect.NotHappened, Reason: "it was by hand", By: by.PrincipalID(), At: now}
	if _, how, err := w.store.ResolveEffect(ctx, by, intent.Effect, as, w.record(event.EffectResolved)); err != nil || how != effect.Settled {
		return fmt.Errorf("resolve: %q, %w", how, err)
	}
	w.tell("resolved", intent.Effect, as.Verdict)
	as = effect.Resolution{Verdict: effect.Happened, Reason: effect.ReasonCommitted, By: effect.ReconciledBy(told.Plugin), Reference: "by hand", At: now}
	if how, err := w.store.Reconciled(ctx, told.Effect, as, w.record(event.EffectResolved)); err != nil || how != effect.Settled {
		return fmt.Errorf("reconcile: %q, %w", how, err)
	}
	w.tell("resolved", told.Effect, as.Verdict)
	return w.giveUp(ctx, by)
}
