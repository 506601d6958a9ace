package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/conformance"
	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// texts are what the guests of all languages are asked to count. They have characters of one to four bytes, escapes of
// every kind, and what ends a string in some languages.
var texts = []string{
	"", " ", "one", "  leading and trailing\t\n", "größer 😀😀😀 naïve", "quo\"te back\\slash sla/sh",
	"zero \x00inside\x00 and \x01\x1f\x7f", "\u2028 \ufeff\ue000", "tie tea ten", strings.Repeat("a long text ", 2000),
}

// counted is what a guest must answer, and always the first time.
func counted(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' })
	longest := ""
	for _, w := range words {
		if utf8.RuneCountInString(w) > utf8.RuneCountInString(longest) {
			longest = w
		}
	}
	out, _ := json.Marshal(map[string]any{"words": len(words), "longest": longest, "calls": 1, "kept": 1})
	return string(out)
}

// invoke writes a call of a language's tool as the host does, or with every character of the text escaped.
func invoke(t *testing.T, tool string, args map[string]string, escaped bool) []byte {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	if escaped {
		text = fmt.Appendf(nil, `{ "te\u0078t" : %s }`, escapeAll(args["text"]))
	}
	return fmt.Appendf(nil, `{"id":"eff_1","tool":%q,"args":%s}`, tool, text)
}

// escapeAll is a JSON string that says nothing plainly.
func escapeAll(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x10000 {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
	}
	return `"` + b.String() + `"`
}

// language is one guest as a plugin that an author packed.
type language struct {
	conformancetest.Guest
	dir      string
	manifest *manifest.Manifest
}

// packed makes plugins of all guests, as `portcullis plugin pack` does.
func packed(t *testing.T) (all []language) {
	t.Helper()
	compiler := conformancetest.Compiler(t)
	for _, g := range conformancetest.Languages(t) {
		dir := t.TempDir()
		file := filepath.Join(dir, g.Name+".wasm")
		if err := os.WriteFile(file, g.Wasm, 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "dist")
		r, err := guestbuild.Pack(t.Context(), file, guestbuild.Options{OutDir: out, Describe: func(ctx context.Context, wasm []byte) ([]byte, error) {
			return host.Describe(ctx, conformancetest.CacheDir(t), compiler, wasm)
		}})
		if err != nil {
			t.Fatalf("pack the guest in %s: %v", g.Name, err)
		}
		if len(r.Warnings) > 0 || r.Manifest.ID != g.Name || len(r.Manifest.Tools) != 2 {
			t.Fatalf("the guest in %s says it is %s with %d tools; %v", g.Name, r.Manifest.ID, len(r.Manifest.Tools), r.Warnings)
		}
		all = append(all, language{g, out, r.Manifest})
	}
	return all
}

// A plugin made by any toolchain is a plugin: it answers rightly, alike here and on the second engine, begins every call
// anew, and is held to its bounds in the ways in which its language breaks them.
func TestConformGuestsOfAllLanguages(t *testing.T) {
	all := packed(t)
	whole := 0
	for _, l := range all {
		if t.Run(l.Name, func(t *testing.T) {
			p, theirs := l.engines(t)
			t.Run("answers", func(t *testing.T) { l.answers(t, p, theirs) })
			t.Run("together", func(t *testing.T) { l.together(t, p) })
			t.Run("faults", func(t *testing.T) { l.faults(t, p) })
		}) {
			whole++
		}
	}
	fmt.Printf("languages: %d of %d\n", whole, len(all))
}

// engines load the guest on ours, which verifies and meters it, and on the other.
func (l *language) engines(t *testing.T) (*sandbox.Plugin, conformance.Engine) {
	t.Helper()
	e, err := sandbox.Open(t.Context(), sandbox.Config{CacheDir: cacheDir, Compiler: conformancetest.Compiler(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	m := *l.manifest
	m.Limits.DeadlineMS = wire.HardDeadlineMS // answers are compared, and machines are busy
	p, err := e.Load(t.Context(), sandbox.Source{Manifest: &m, Wasm: l.Wasm})
	if err != nil {
		t.Fatal(err)
	}
	x, err := conformance.OpenExtism(t.Context(), conformance.ExtismOptions{Wasm: l.Wasm, Limits: sandbox.LimitsOf(m.Limits), CacheDir: cacheDir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(context.Background()) })
	return p, x
}

// answers are right for every text, plain and escaped, with nothing known of the call before.
func (l *language) answers(t *testing.T, p *sandbox.Plugin, theirs conformance.Engine) {
	for i, text := range texts {
		for _, escaped := range []bool{false, true} {
			in := invoke(t, l.Name+".count", map[string]string{"text": text}, escaped)
			ours, their := answer(t, conformance.OnSandbox(p), wire.ExportInvoke, string(in)), answer(t, theirs, wire.ExportInvoke, string(in))
			if !sameResult(ours.Output, counted(text)) {
				t.Errorf("text %d: %.200s (%+v), want %.200s", i, ours.Output, ours, counted(text))
			}
			if !bytes.Equal(ours.Output, their.Output) {
				t.Errorf("text %d: %.200s here and %.200s on the second engine, %+v", i, ours.Output, their.Output, their)
			}
		}
	}
}

// together: calls at the same time know nothing of each other.
func (l *language) together(t *testing.T, p *sandbox.Plugin) {
	in, want := invoke(t, l.Name+".count", map[string]string{"text": "all at once"}, false), counted("all at once")
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 5 {
				out := p.Call(t.Context(), wire.ExportInvoke, in, sandbox.CallOptions{})
				if !sameResult(out.Output, want) {
					t.Errorf("%s %q %s, want %s", out.Status, out.Output, out.Text, want)
					return
				}
			}
		})
	}
	calls.Wait()
}

// ways are how a guest goes wrong, and the end that has in most languages and in some. What breaks off traps, or is an
// exception that the engine inside the guest reports; deep recursion meets the host's bound on the stack, or the
// language's own.
var ways = []struct {
	how  string
	most sandbox.Status
	in   map[string]sandbox.Status
}{
	{"fault", sandbox.OK, nil},
	{"fail", sandbox.GuestError, map[string]sandbox.Status{"go": sandbox.OK}}, // the sdk makes a fault of every error
	{"break", sandbox.Trap, map[string]sandbox.Status{"javascript": sandbox.GuestError}},
	{"spin", sandbox.TimedOut, nil},
	{"hoard", sandbox.OutOfMemory, nil},
	{"recurse", sandbox.LimitPassed, map[string]sandbox.Status{
		"c": sandbox.Trap, "cpp": sandbox.Trap, "go": sandbox.OutOfMemory, "javascript": sandbox.GuestError,
	}},
}

// faults: whatever goes wrong has a status, words that are bounded and safe to show, and is over.
func (l *language) faults(t *testing.T, p *sandbox.Plugin) {
	const said = "it broke \x1b[31mhere\u202e\nand"
	after := invoke(t, l.Name+".count", map[string]string{"text": "after"}, false)
	for _, w := range ways {
		want, own := w.in[l.Name]
		if !own {
			want = w.most
		}
		t.Run(w.how, func(t *testing.T) {
			opt := sandbox.CallOptions{}
			if w.how == "spin" {
				opt.Timeout = 300 * time.Millisecond
			}
			words := w.how == "fail" || w.how == "break"
			text := said
			if words && l.Name != "go" { // a Go panic goes to stderr, of which the end is kept
				text += strings.Repeat(" far too long", 2000)
			}
			out := p.Call(t.Context(), wire.ExportInvoke, invoke(t, l.Name+".fault", map[string]string{"how": w.how, "text": text}, false), opt)
			if out.Status != want {
				t.Fatalf("%s (%s) %q %v, want %s", out.Status, out.Reason, out.Text, out.Err, want)
			}
			if len(out.Text) > 4<<10 || strings.ContainsFunc(out.Text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("it is said unbounded or unescaped: %d bytes, %.200q", len(out.Text), out.Text)
			}
			if out.Status != sandbox.OK && words && !strings.Contains(out.Text, `it broke \x1b[31mhere\u{202e}`) {
				t.Errorf("the operator reads %.200q", out.Text)
			}
			if out.Status == sandbox.OK && !strings.Contains(string(out.Output), `"fault":{"code":"`) {
				t.Errorf("no fault: %s", out.Output)
			}
			if most := p.Limits().Memory; out.Stats.MemoryPeak > most {
				t.Errorf("it had %d bytes of %d", out.Stats.MemoryPeak, most)
			}
			if out := p.Call(t.Context(), wire.ExportInvoke, after, sandbox.CallOptions{}); !sameResult(out.Output, counted("after")) {
				t.Errorf("the next call: %s (%s) %s", out.Status, out.Reason, out.Output)
			}
		})
	}
}

// sameResult says that a reply has this result.
func sameResult(reply []byte, want string) bool {
	var got struct{ Result any }
	var result any
	return json.Unmarshal(reply, &got) == nil && json.Unmarshal([]byte(want), &result) == nil && reflect.DeepEqual(got.Result, result)
}
