package sandbox

import "testing"

// A call that ends after its plugin was closed, such as one that makes an instance ready for the next, may find the code
// gone. It gets it anew, and what it meets says nothing about the module to those that load it later.
func TestALateCallGetsItsCodeAnew(t *testing.T) {
	e := openEngine(t, Config{})
	load := func() *Plugin {
		t.Helper()
		p, err := e.LoadForeign(t.Context(), Foreign{Name: "echo", Wasm: fixture(t, "echo.wasm"), Exports: []string{"run"}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := load()
	if out := p.Call(t.Context(), "run", []byte("x"), CallOptions{}); out.Status != OK {
		t.Fatalf("%s (%s)", out.Status, out.Reason)
	}
	m := p.module
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	code, err := e.enter(t.Context(), m)
	if err != nil || code == nil {
		t.Fatalf("a late call: %v", err)
	}
	if err := e.leave(t.Context(), m); err != nil {
		t.Error(err)
	}
	again := load()
	if out := again.Call(t.Context(), "run", []byte("x"), CallOptions{}); out.Status != OK {
		t.Errorf("the next plugin of the same bytes: %s (%s) %s", out.Status, out.Reason, out.Text)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
