package effect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func read(t *testing.T, text string) document.Document {
	t.Helper()
	d, err := document.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What an adapter says that it read is believed of those bytes alone, and not past the depth bound.
func TestTheGateReadsWhatTheAdapterDidNot(t *testing.T) {
	deep := strings.Repeat("[", effect.MaxArgumentDepth+1) + strings.Repeat("]", effect.MaxArgumentDepth+1)
	for name, c := range map[string]struct {
		result, read string
		reason       string
	}{
		"the same":      {`{"a":1}`, `{"a":1}`, ""},
		"another":       {`{"a":1,"a":2}`, `{"a":1}`, "output_not_json"},
		"not an object": {`[1]`, `{"a":1}`, "output_schema"},
		"too deep":      {`{"a":` + deep + `}`, `{"a":` + deep + `}`, "output_not_json"},
	} {
		f := newFixture(t, "tool.call:*")
		res := f.run(`{}`, tool("a.b", adapter(func(context.Context, effect.Call) effect.Outcome {
			return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(c.result), Read: read(t, c.read)}
		})))
		if res.Reason != c.reason || (c.reason == "" && res.Views.Model.String() != c.result) {
			t.Errorf("%s: %s (%s), the model sees %s", name, res.Status, res.Reason, res.Views.Model)
		}
	}
}

// The verdict of policy is kept for a turn, but not past the life of the principal's scope.
func TestAVerdictEndsWithThePrincipal(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	issuer := principal.NewIssuer("sto_gone")
	who, err := issuer.Issue(principal.Facts{
		PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	token := binding.Token{ID: f.ids.Token(), Request: f.turn.Request(), Turn: f.turn.ID(), Session: "ses_a"}
	f.turn, err = binding.New(binding.Spec{
		Request: f.turn.Request(), Turn: f.turn.ID(), Session: "ses_a", Principal: who, Trace: f.ids.Trace(), Core: f.turn.Core(),
		Route: token, Admission: token, Cancellation: token,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.runtime = effect.NewRuntime(effect.Config{Journal: unrecorded{}, Grants: f.store, Approver: f, IDs: f.ids, Clock: time.Now})
	c := f.catalog(effect.Setup{}, tool("a.b", succeed(`{}`)))
	for range 2 {
		f.want(f.execute(t.Context(), c, "a.b", `{}`), effect.Succeeded, true, "")
	}
	issuer.Close()
	f.want(f.execute(t.Context(), c, "a.b", `{}`), effect.Denied, false, "scope_not_allowed")
}
