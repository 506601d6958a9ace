package sandbox_test

import (
	"bytes"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// A Go guest keeps nothing of a call in variables, maps or its heap, and its
// runtime survives being brought back: collector, growing heap and clock.
func TestGoGuestsStartFresh(t *testing.T) {
	p := loadWith(t, open(t, sandbox.Config{}), sandbox.Foreign{Name: "fresh", Wasm: freshGo(t), Exports: freshExports})
	for i, c := range []struct{ export, in, out string }{
		{"state", "a", "\x01\x01\x01\x01"},
		{"state", "b", "\x01\x01\x01\x01"},
		{"elapsed", "", "forwards"},
		{"grow", "", "\x06"},
		{"state", "a", "\x01\x01\x01\x01"},
		{"grow", "", "\x06"},
		{"decode", `{"a":[1,2,{"b":null}]}`, `{"a":[1,2,{"b":null}]}`},
		{"nothing", "", ""},
		{"decode", `not json`, ""},
		{"state", "a", "\x01\x01\x01\x01"},
		{"elapsed", "", "forwards"},
		{"echo", string(bytes.Repeat([]byte("x"), 1<<20)), string(bytes.Repeat([]byte("x"), 1<<20))},
		{"state", "a", "\x01\x01\x01\x01"},
	} {
		out := p.Call(t.Context(), c.export, []byte(c.in), sandbox.CallOptions{})
		if c.in == "not json" {
			want(t, out, sandbox.GuestError, "rc_1")
			continue
		}
		want(t, out, sandbox.OK, "")
		if string(out.Output) != c.out {
			t.Fatalf("call %d, %s: %.40q, want %.40q", i, c.export, out.Output, c.out)
		}
	}
}
