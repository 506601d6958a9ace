package child_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/child"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// runner is what runs children in a test.
type runner struct {
	run func(context.Context, turn.Request) (turn.Result, error)

	mu    sync.Mutex // guards asked
	asked []turn.Request
}

func (r *runner) Run(ctx context.Context, req turn.Request) (turn.Result, error) {
	r.mu.Lock()
	r.asked = append(r.asked, req)
	r.mu.Unlock()
	return r.run(ctx, req)
}

func (r *runner) Child(_ context.Context, parent principal.Scope, t id.Turn, e id.Effect) (principal.Facts, error) {
	return principal.Facts{PrincipalID: "principal:delegated_agent:" + string(e), Authority: principal.DelegatedAgent, ParentSession: parent.SessionID(), ParentTurn: string(t)}, nil
}

// bound is a turn whose core has grants.
func bound(t *testing.T, grants ...string) binding.Turn {
	t.Helper()
	may, err := capability.ParseSnapshot(grants...)
	if err != nil {
		t.Fatal(err)
	}
	who, err := principal.NewIssuer("sto_test").Issue(principal.Facts{
		PrincipalID: "principal:system:ann", Authority: principal.System, SessionID: "ses_1", AllowedSessions: []string{"ses_1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tok := binding.Token{ID: "tok_1", Request: "req_1", Turn: "trn_1", Session: "ses_1"}
	b, err := binding.New(binding.Spec{
		Request: "req_1", Turn: "trn_1", Session: "ses_1", Principal: who, Trace: "trc_1", Workspace: "/work",
		Core: binding.Core{ID: "assistant", Revision: "r", Capabilities: may}, Route: tok, Admission: tok, Cancellation: tok,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// spawn offers the tool to a turn.
func spawn(t *testing.T, r *runner) func(ctx context.Context) effect.Outcome {
	t.Helper()
	b := bound(t, "agents.spawn:helper")
	tools, err := (&child.Source{Runner: r, Authority: r}).Tools(t.Context(), b)
	if err != nil || len(tools) != 1 {
		t.Fatal(tools, err)
	}
	return func(ctx context.Context) effect.Outcome {
		return tools[0].Adapter.Invoke(ctx, effect.Call{
			Effect: "eff_1", Tool: child.Tool, Turn: b, Arguments: json.RawMessage(`{"core":"helper","task":"help"}`),
			Redactor: func() redact.Set { return redact.Set{} }, Setup: func() effect.Setup { return effect.Setup{} },
		})
	}
}

func refusing(reason string) *runner {
	return &runner{run: func(context.Context, turn.Request) (turn.Result, error) {
		return turn.Result{}, &turn.RejectedError{Reason: reason, Sentence: "no"}
	}}
}

func TestOnlyACoreThatMaySpawnIsOfferedTheTool(t *testing.T) {
	tools, err := (&child.Source{}).Tools(t.Context(), bound(t, "kv", "tool.call:*"))
	if err != nil || len(tools) != 0 || len(child.Known(bound(t, "kv").Core().Capabilities)) != 0 {
		t.Errorf("%+v, %v", tools, err)
	}
}

func TestAChildWorksForTheTurnThatSpawnedIt(t *testing.T) {
	r := refusing(turn.RejectCore)
	if out := spawn(t, r)(t.Context()); out.Status != effect.Failed || out.Reason != child.ReasonCore {
		t.Errorf("%+v", out)
	}
	req := r.asked[0]
	if req.Core != "helper" || req.Input != "help" || req.Selector.Kind != turn.Fresh || req.Workspace != "/work" || req.Parent == nil ||
		req.Parent.Turn.ID() != "trn_1" || req.Actor.ParentTurn != "trn_1" || req.Actor.Authority != principal.DelegatedAgent {
		t.Errorf("%+v", req)
	}
}

func TestWhatAChildIsRefusedForIsNamed(t *testing.T) {
	for rejected, want := range map[string]string{
		turn.RejectDepth: child.ReasonDepth, turn.RejectCount: child.ReasonCount, turn.RejectCrowd: child.ReasonBusy, turn.RejectCore: child.ReasonCore,
		turn.RejectSpent: "child_spent",
	} {
		if out := spawn(t, refusing(rejected))(t.Context()); out.Status != effect.Failed || out.Reason != want {
			t.Errorf("%s: %+v", rejected, out)
		}
	}
}

// A child of which nothing is known may have done anything.
func TestWhatIsNotKnownOfAChildIsIndeterminate(t *testing.T) {
	r := &runner{run: func(context.Context, turn.Request) (turn.Result, error) {
		return turn.Result{}, &turn.InfrastructureError{Doing: "write", Err: errors.New("disk full")}
	}}
	if out := spawn(t, r)(t.Context()); out.Status != effect.Indeterminate || !strings.Contains(out.Detail, "disk full") {
		t.Errorf("%+v", out)
	}
}
