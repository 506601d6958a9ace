package sandbox

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// ways are the ways on which words of a guest leave a call, each with how many bytes of them are kept.
func ways(t *testing.T, hides func() redact.Set) map[string]struct {
	limit int
	says  func(text string) string
} {
	session := func() *Session {
		return NewSession(LimitsOf(wire.Limits{}), CallOptions{Redactor: hides}, time.Now, rand.Reader)
	}
	record := func(rec wire.LogRecord) wire.LogRecord {
		s, in := session(), asJSON(t, rec)
		if _, err := s.serveLog(t.Context(), in); err != nil || len(s.logs) != 1 {
			t.Fatalf("%d lines, %v", len(s.logs), err)
		}
		return s.logs[0]
	}
	plugin := &Plugin{spec: spec{name: "words"}}
	return map[string]struct {
		limit int
		says  func(text string) string
	}{
		"log": {4 << 10, func(text string) string { return record(wire.LogRecord{Level: "info", Message: text}).Message }},
		"attribute": {1 << 10, func(text string) string {
			return record(wire.LogRecord{Level: "info", Attrs: []wire.Attr{{Key: "k", Value: text}}}).Attrs[0].Value
		}},
		"name of an attribute": {64, func(text string) string {
			return record(wire.LogRecord{Level: "info", Attrs: []wire.Attr{{Key: text}}}).Attrs[0].Key
		}},
		"raw log": {4 << 10, func(text string) string {
			st := &callState{session: session()}
			st.arena = newArena(&budget{limit: 1 << 20, shared: &sharedMemory{limit: 1 << 20}})
			off, _ := st.arena.put([]byte(text), false)
			st.logBlock("info", off)
			return st.session.logs[0].Message
		}},
		"progress": {1 << 10, func(text string) (said string) {
			s := session()
			s.opt.Progress = func(p wire.Progress) { said = p.Message }
			if _, err := s.serveEmit(t.Context(), asJSON(t, wire.Progress{Message: text})); err != nil {
				t.Fatal(err)
			}
			return said
		}},
		"error text": {maxErrorText, func(text string) string {
			return (&callState{session: session(), errorText: []byte(text)}).words()
		}},
		"fault": {maxFault, func(text string) string {
			out := asJSON(t, wire.Reply{Fault: &wire.Fault{Code: wire.CodeFailed, Message: text}})
			return NewAdapter(plugin, Ports{}).read(effect.Call{Redactor: hides}, Outcome{Status: OK, Output: out}).Fault.Message
		}},
		"bad reply": {300, func(text string) string {
			return NewAdapter(plugin, Ports{}).read(effect.Call{Redactor: hides}, Outcome{Status: OK, Output: asJSON(t, map[string]string{text: ""})}).Detail
		}},
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const aSecret = "Zq8/vR2+xL9wTn4KpY7cJd3HsB6mFg1u"

// left says whether a part of the secret can be read that is long enough to be one.
func left(text string) bool {
	for i := range len(aSecret) - 7 {
		if strings.Contains(text, aSecret[i:i+8]) {
			return true
		}
	}
	return false
}

// A secret that lies across the place where a guest's words are cut is not shown in part, on any way, wherever the cut falls.
func TestNothingSecretOfAGuestIsCutThrough(t *testing.T) {
	set, err := redact.Set{}.With(redact.NewSecret("KEY", aSecret))
	if err != nil {
		t.Fatal(err)
	}
	hides := func() redact.Set { return set }
	for name, way := range ways(t, hides) {
		for before := max(0, way.limit-len(aSecret)-8); before <= way.limit; before++ {
			if said := way.says(strings.Repeat("a ", before)[:before] + aSecret + " and more" + strings.Repeat(".", 600)); left(said) {
				t.Fatalf("%s: with %d bytes before it, it ends with %q", name, before, said[max(0, len(said)-60):])
			}
		}
	}
	for name, way := range ways(t, func() redact.Set { return redact.Set{} }) {
		if name != "bad reply" && !left(way.says(strings.Repeat("a ", way.limit)[:way.limit-20]+aSecret+strings.Repeat(".", 600))) {
			t.Errorf("%s: the cut is elsewhere", name)
		}
	}
}

// The end of stderr is kept, and a secret that lies across where it begins is not shown in part.
func TestNothingSecretIsLeftWhereStderrBegins(t *testing.T) {
	set, err := redact.Set{}.With(redact.NewSecret("KEY", aSecret))
	if err != nil {
		t.Fatal(err)
	}
	for after := maxStderr - len(aSecret) - 8; after <= maxStderr; after++ {
		whole := &tail{hides: func() redact.Set { return set }}
		_, _ = whole.Write([]byte("begun " + aSecret[:5]))
		_, _ = whole.Write([]byte(aSecret[5:] + strings.Repeat(" .", after)[:after]))
		if said := whole.text(); left(string(said)) || len(said) > maxStderr {
			t.Fatalf("with %d bytes after it, %d are kept, beginning %q", after, len(said), said[:60])
		}
	}
	whole := &tail{}
	_, _ = whole.Write([]byte(aSecret + strings.Repeat(".", maxStderr-12)))
	if !left(string(whole.text())) {
		t.Error("the cut is elsewhere")
	}
	// Of a text that is nothing but a secret, again and again, masks are so much shorter that all that is kept is read.
	long := strings.Repeat(aSecret, 8)
	longer, err := redact.Set{}.With(redact.NewSecret("KEY", long))
	if err != nil {
		t.Fatal(err)
	}
	for first := range len(aSecret) {
		whole := &tail{hides: func() redact.Set { return longer }}
		_, _ = whole.Write([]byte(strings.Repeat(".", first) + strings.Repeat(long+"\n", 300)))
		if said := string(whole.text()); left(said) || !strings.Contains(said, "KEY") || !whole.cut {
			t.Fatalf("after %d bytes it begins with %.80q", first, said)
		}
	}
	st := newCallState(&Plugin{engine: &Engine{}, binary: &binary{}}, NewSession(Limits{}, CallOptions{Redactor: func() redact.Set { return set }}, time.Now, rand.Reader), 1)
	_, _ = st.stderr.Write(bytes.Repeat([]byte(aSecret+"\n"), 10))
	if left(st.words()) {
		t.Error("a call's stderr is kept as it came")
	}
}

// A call's own redactor hides what its guest says.
func TestAnAdapterHidesBeforeItCuts(t *testing.T) {
	set, err := redact.Set{}.With(redact.NewSecret("KEY", "noise, noisenoise, noise")) // which the guest writes 512 times, in pieces
	if err != nil {
		t.Fatal(err)
	}
	p, err := openEngine(t, Config{}).LoadForeign(t.Context(), Foreign{Name: "loud", Wasm: fixture(t, "init_stderr.wasm"), Exports: []string{"run"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	p.manifest = &manifest.Manifest{Tools: []wire.Tool{{Name: "loud.run"}}}
	for secrets, hides := range map[int]func() redact.Set{0: func() redact.Set { return redact.Set{} }, 1: func() redact.Set { return set }} {
		out, refused := NewAdapter(p, Ports{}).enter(t.Context(), "run", effect.Call{Tool: "loud.run", Arguments: []byte("{}"), Redactor: hides})
		if refused != nil || !strings.Contains(out.Text, "it broke") || strings.Contains(out.Text, "noise") == (secrets == 1) {
			t.Errorf("%d secrets: %v, %.100q", secrets, refused, out.Text)
		}
	}
}
