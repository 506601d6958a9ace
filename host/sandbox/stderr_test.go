package sandbox

import (
	"errors"
	"strings"
	"testing"
)

// A plugin whose initialisation breaks off says why to the operator, when it is called and when it is built: the end of
// what it wrote to stderr, bounded, and safe to show.
func TestAFailingStartSaysWhy(t *testing.T) {
	const end = `noise, noiseit broke: \x1b[31mred\u{202e}\nat start`
	e := openEngine(t, Config{})
	wasm := fixture(t, "init_stderr.wasm")
	p, err := e.LoadForeign(t.Context(), Foreign{Name: "loud", Wasm: wasm, Exports: []string{"run"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	for range 2 { // it fails anew each time
		out := p.Call(t.Context(), "run", nil, CallOptions{})
		if out.Status != Trap || out.Entered {
			t.Fatalf("%s (%s), entered %t", out.Status, out.Reason, out.Entered)
		}
		if !strings.HasSuffix(out.Text, end) || len(out.Text) > maxErrorText {
			t.Errorf("it said %d bytes, ending %q", len(out.Text), out.Text[max(0, len(out.Text)-100):])
		}
		if detail := NewAdapter(p, Ports{}).detail(out); !strings.HasPrefix(detail, "plugin loud ended with trap (engine)") || !strings.HasSuffix(detail, end) {
			t.Errorf("the operator reads %.100q", detail)
		}
	}
	var bad *DescribeError
	if _, err := e.Describe(t.Context(), wasm); !errors.As(err, &bad) || !strings.HasSuffix(bad.Outcome.Text, end) {
		t.Errorf("when it is built: %v", err)
	}
}
