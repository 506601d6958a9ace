package providertest

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// Sound asserts what holds of every outcome of a call, whatever the server
// sent: a typed error and no answer, or an answer within its caps whose tool
// calls are each either a strict object or marked as malformed.
func Sound(t *testing.T, resp provider.Response, err error, caps provider.Caps) {
	t.Helper()
	if err != nil {
		var e *provider.Error
		if !errors.As(err, &e) {
			t.Fatalf("untyped error %T: %v", err, err)
		}
		if len(resp.Parts) != 0 {
			t.Fatalf("an answer beside the error %v", err)
		}
		return
	}
	size, calls := 0, resp.Calls()
	ids := make(map[string]bool)
	for _, p := range resp.Parts {
		size += len(p.Text) + len(p.Call.Arguments)
		if !utf8.ValidString(p.Text) {
			t.Errorf("text is not UTF-8: %q", p.Text)
		}
	}
	if size > caps.ResponseBytes || len(calls) > caps.ToolCalls {
		t.Errorf("%d bytes and %d calls are over the caps", size, len(calls))
	}
	for _, c := range calls {
		var object map[string]json.RawMessage
		switch {
		case (c.Arguments == nil) == (c.Malformed == ""):
			t.Errorf("call %+v is neither good nor malformed", c)
		case c.Arguments != nil && json.Unmarshal(c.Arguments, &object) != nil:
			t.Errorf("arguments %s are no object", c.Arguments)
		case c.ID == "" || c.Name == "" || ids[c.ID] || len(c.Arguments) > caps.ArgumentBytes:
			t.Errorf("call %+v", c)
		}
		ids[c.ID] = true
	}
	if len(calls) > 0 && resp.FinishReason == provider.FinishStop {
		t.Error("calls under finish reason stop")
	}
}
