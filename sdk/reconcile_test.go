package sdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
)

type transfer struct {
	To string `json:"to" default:"ann"`
}

func send(context.Context, transfer, sdk.Host) (struct{}, error) { return struct{}{}, nil }

// sent says what the test put into the store under the name "state".
func sent(ctx context.Context, in transfer, h sdk.Host) (sdk.Reconciliation, error) {
	state, _, err := h.KV().Get("state")
	if errors.Is(err, sdk.NotFound) {
		_, err := h.KV().Set("state", []byte("written"))
		return sdk.Reconciliation{State: sdk.Unknown}, err
	}
	r := sdk.Reconciliation{State: string(state)}
	if r.State == sdk.Committed {
		r.Reference = in.To + " " + sdk.CallID(ctx)
	}
	return r, err
}

func TestAToolSaysWhatBecameOfACall(t *testing.T) {
	p := plugintest.For(t, notes(sdk.Tool("money.send", "Send.", send, sdk.Needs("kv"), sdk.Reconcile(sent))))
	if word := p.Description().Tools[0].Recovery; word != "reconcile" {
		t.Errorf("recovery %q", word)
	}
	for _, state := range []string{sdk.NotCommitted, sdk.Unknown} {
		if r := p.Keys(map[string]string{"state": state}).Reconcile(t, "money.send", `{"to":"bob"}`); r != (sdk.Reconciliation{State: state}) {
			t.Errorf("%s: %+v", state, r)
		}
	}
	p.Keys(map[string]string{"state": sdk.Committed})
	if r := p.Reconcile(t, "money.send", `{}`); r.Reference != "ann eff_test" {
		t.Errorf("the defaults and the call's id: %+v", r)
	}
}

// What a handler says that it may not is a fault, and so is writing.
func TestAReconciliationIsHeldToItsForm(t *testing.T) {
	ask := func(handler func(context.Context, transfer, sdk.Host) (sdk.Reconciliation, error)) string {
		program, err := sdk.NewProgram(notes(sdk.Tool("money.send", "Send.", send, sdk.Needs("kv"), sdk.Reconcile(handler))))
		if err != nil {
			t.Fatal(err)
		}
		out, err := program.Reconcile(t.Context(), []byte(`{"id":"eff_1","tool":"money.send","args":{"to":"x"}}`), program.NativeHost(func(string, []byte) []byte {
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for name, r := range map[string]sdk.Reconciliation{
		"nothing": {}, "another word": {State: "sent"}, "a reference without": {State: sdk.NotCommitted, Reference: "x"},
		"long": {State: sdk.Committed, Reference: strings.Repeat("x", 257)}, "two lines": {State: sdk.Committed, Reference: "a\nb"},
		"no text": {State: sdk.Committed, Reference: "\xff"}, "a fault of its own": {Fault: &sdk.Fault{Code: sdk.Denied}},
	} {
		out := ask(func(context.Context, transfer, sdk.Host) (sdk.Reconciliation, error) { return r, nil })
		if !strings.HasPrefix(out, `{"fault":`) {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out := ask(func(context.Context, transfer, sdk.Host) (sdk.Reconciliation, error) {
		return sdk.Reconciliation{}, errors.New("no")
	}); !strings.HasPrefix(out, `{"fault":`) {
		t.Errorf("an error: %s", out)
	}
}

func TestRecoveryAndItsHandlerGoTogether(t *testing.T) {
	other := func(context.Context, struct{}, sdk.Host) (sdk.Reconciliation, error) {
		return sdk.Reconciliation{}, nil
	}
	var none func(context.Context, transfer, sdk.Host) (sdk.Reconciliation, error)
	for want, opts := range map[string][]sdk.Option{
		"needs the option sdk.Reconcile":        {sdk.Recovery("reconcile")},
		"has sdk.Reconcile and recovery manual": {sdk.Reconcile(sent), sdk.Recovery("manual")},
		"takes struct {} and the tool takes":    {sdk.Reconcile(other)},
		"handler of Reconcile is nil":           {sdk.Reconcile(none)},
	} {
		_, err := sdk.NewProgram(notes(sdk.Tool("money.send", "Send.", send, opts...)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
