package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
)

// sink is one way on which text leaves the product. hear puts text, which begins with mark, on that way and returns what
// can be read at its end; must is what has to be there, so that a sink which says nothing at all does not pass.
type sink struct {
	name string
	hear func(text string) string
	must []string
}

// TestRedactionOfEveryEncodingInEverySink plants the secret of the vault, in each encoding, on each way out of the real
// product: a plugin in the sandbox says it, and it is looked for where it would be read.
func TestRedactionOfEveryEncodingInEverySink(t *testing.T) {
	n := newNest(t)
	cells := map[string]map[string]string{} // by encoding, what each sink showed
	for _, e := range redacttest.Thirty() {
		cells[e.Name] = map[string]string{}
	}
	var sinks []sink
	hear := func(all []sink) {
		t.Helper()
		sinks = append(sinks, all...)
		for i, e := range redacttest.Thirty() {
			for _, s := range all {
				cells[e.Name][s.name] = s.hear(planted(i, e))
			}
		}
	}
	var log bytes.Buffer
	h := n.open(&log, false)
	hear(n.hosted(h, &log))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = n.open(&log, true)
	hear([]sink{{"log, json", n.logged(h, &log), []string{`"@message":"a plugin logged"`}}})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	hear(n.typed())

	good, all := 0, 0
	for i, e := range redacttest.Thirty() {
		unplanted := redacttest.Others(e.Encode, kept)
		for _, s := range sinks {
			all++
			shown := cells[e.Name][s.name]
			if fault := unhidden(shown, e.Encode(kept), unplanted); fault != "" {
				t.Errorf("%s, %s: shows %q:\n%s", e.Name, s.name, fault, shown)
				continue
			}
			missing := ""
			for _, must := range s.must {
				if !strings.Contains(shown, strings.ReplaceAll(must, "MARK", marked(i))) {
					missing = must
				}
			}
			if missing != "" {
				t.Errorf("%s, %s: %s is not there:\n%s", e.Name, s.name, missing, shown)
				continue
			}
			good++
		}
	}
	t.Logf("redaction: %d of %d", good, all)
	if all != 360 {
		t.Errorf("%d cells, want 30 encodings in 12 sinks", all)
	}
	n.nothingIsLeft(kept)
}

func marked(i int) string { return "begin" + strconv.Itoa(10+i) }

// planted is the secret in an encoding between words that must stay.
func planted(i int, e redacttest.Encoding) string { return marked(i) + " " + e.Encode(kept) + " end" }

// hosted are the sinks of a host: its views, its log, its audit and what its plugins send.
func (n *nest) hosted(h *app.Running, log *bytes.Buffer) []sink {
	last := map[string]redact.Views{} // one call serves all five views
	view := func(a redact.Audience, mask string) sink {
		return sink{a.String() + " view", func(text string) string {
			if _, ok := last[text]; !ok {
				last[text] = n.call(h, "parrot.say", map[string]any{"text": text}).Views
			}
			return last[text].View(a).String()
		}, []string{"MARK", mask}}
	}
	return []sink{
		view(redact.ForModel, "["+redact.Sentinel), view(redact.ForOperator, "<redacted:KEPT"),
		view(redact.ForEvent, "<redacted:KEPT"), view(redact.ForDurable, "<redacted:KEPT"), view(redact.ForDebug, "<redacted:KEPT"),
		{"log, text", n.logged(h, log), []string{"a plugin logged", "MARK", "<redacted:KEPT>"}},
		{"audit", func(text string) string {
			unknown := n.call(h, text, map[string]any{}) // a tool that no plugin has, under the name that a model made up
			shown := n.audit(h) + unknown.Sentence
			n.call(h, "parrot.fail", map[string]any{"text": text})
			return shown + n.audit(h)
		}, []string{"effect.denied tool=MARK", "turn.finished", "why=parrot.fail answered failed: MARK", "<redacted:KEPT"}},
		{"request", func(text string) string {
			var all strings.Builder
			for _, letter := range []map[string]any{
				{"url": "https://parrot.example/?q=" + text}, {"url": "https://parrot.example/", "header": text}, {"url": "https://parrot.example/", "body": text},
			} {
				r := n.call(h, "parrot.tell", letter)
				fmt.Fprintf(&all, "%s %s\n%s", r.Sentence, r.Views.Model, n.audit(h))
			}
			if n := strings.Count(all.String(), "reason=secret_in_request"); n != 3 {
				return fmt.Sprintf("%s%d of 3 requests were refused for it", all.String(), n)
			}
			return all.String()
		}, []string{"secret_in_request", "allowed=false", "origin= "}},
		{"artifact", func(text string) string { return n.artifacts(h, text) }, []string{"eff_", ".stdout", "MARK", "<redacted:KEPT"}},
	}
}

// logged makes the plugin log a text and returns the lines that came of it.
func (n *nest) logged(h *app.Running, log *bytes.Buffer) func(string) string {
	return func(text string) string {
		before := log.Len()
		if r := n.call(h, "parrot.log", map[string]any{"text": text}); r.Status != effect.Succeeded {
			n.t.Errorf("%s: %s", r.Status, r.Sentence)
		}
		return log.String()[before:]
	}
}

// artifacts has a program print a text by itself, and in the midst of so much that its output is kept, and returns what all
// views of its results show, and the names and the contents of what was kept.
func (n *nest) artifacts(h *app.Running, text string) string {
	n.t.Helper()
	var shown strings.Builder
	say := func(r effect.Result) {
		fmt.Fprintln(&shown, r.Status, r.Sentence)
		for _, a := range []redact.Audience{redact.ForModel, redact.ForOperator, redact.ForEvent, redact.ForDurable, redact.ForDebug} {
			fmt.Fprintln(&shown, r.Views.View(a))
		}
	}
	if err := os.WriteFile(filepath.Join(n.work, "short.txt"), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	say(n.call(h, "process.exec", map[string]any{"argv": []string{"cat", "short.txt"}}))
	room := strings.Repeat("so many words that nobody would read them\n", 1000)
	if err := os.WriteFile(filepath.Join(n.work, "long.txt"), []byte(room+text+"\n"+room), 0o600); err != nil {
		n.t.Fatal(err)
	}
	before := n.kept()
	say(n.call(h, "process.exec", map[string]any{"argv": []string{"cat", "long.txt"}}))
	for _, name := range n.kept() {
		if slices.Contains(before, name) {
			continue
		}
		content, err := os.ReadFile(n.home.Join("artifacts", name))
		if err != nil {
			n.t.Fatal(err)
		}
		fmt.Fprintln(&shown, name, strings.ReplaceAll(string(content), room, ""))
	}
	return shown.String()
}

// kept are the names of the artifacts.
func (n *nest) kept() []string {
	entries, err := os.ReadDir(n.home.Join("artifacts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// audit is the audit rows of the last turn as they are read back from the database.
func (n *nest) audit(h *app.Running) string {
	n.t.Helper()
	by, err := h.Operator(n.t.Context(), "test")
	if err != nil {
		n.t.Fatal(err)
	}
	rows, err := h.History().Events(n.t.Context(), by, turn.EventQuery{Turn: n.last, Limit: 20})
	if err != nil {
		n.t.Fatal(err)
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%s ", row.Kind)
		for _, f := range row.Fields {
			fmt.Fprintf(&b, "%s=%s ", f.Name, f.Value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// call runs one effect through the host.
func (n *nest) call(h *app.Running, tool string, args any) effect.Result {
	n.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		n.t.Fatal(err)
	}
	ran, r, err := h.Call(n.t.Context(), host.Request{Workspace: n.work}, tool, raw, turn.Observer{})
	if err != nil {
		n.t.Fatal(err)
	}
	n.last = ran.Turn()
	return r
}

// typed are the sinks of the program: what it prints of errors and of panics, its own included.
func (n *nest) typed() []sink {
	args := func(text string) string { return string(must(json.Marshal(map[string]string{"text": text}))) }
	return []sink{
		{"error", func(text string) string {
			_, said := n.main(nil, "call", "parrot.fail", "--trace", "--args", args(text))
			_, document := n.main(nil, "--json", "call", "parrot.fail", "--trace", "--view", "debug", "--args", args(text))
			_, file := n.main(nil, "call", "parrot.fail", "--args", "@"+text)
			return said + document + file
		}, []string{"parrot.fail answered failed: MARK", "cannot be read", "<redacted:KEPT>"}},
		{"panic", func(text string) string {
			_, guest := n.main(nil, "call", "parrot.panic", "--trace", "--args", args(text))
			_, program := n.main(panicking(text), "--log-level", "debug", "call", "parrot.say", "--args", "-")
			return guest + program
		}, []string{"panic: MARK", "the program broke an invariant of its own: MARK", "redaction_test.go", "<redacted:KEPT>"}},
	}
}

// panicking is an input that panics when it is read.
type panicking string

func (p panicking) Read([]byte) (int, error) { panic(string(p)) }

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// unhidden is a part of the secret that can be read in shown, as it stands or with backslashes taken off: logs, JSON and
// quoted words add them.
func unhidden(shown, planted, unplanted string) string {
	for range 3 {
		for _, text := range []string{planted, kept} {
			if part := redacttest.Leak(shown, text, unplanted); part != "" {
				return part
			}
		}
		shown = unslashed(shown)
	}
	return ""
}

// unslashed takes one layer of backslashes off.
func unslashed(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := map[byte]int{'x': 2, 'u': 4}[s[i]]
		if code, err := strconv.ParseUint(s[min(i+1, len(s)):min(i+1+digits, len(s))], 16, 32); digits > 0 && err == nil {
			if digits == 2 {
				b.WriteByte(byte(code))
			} else {
				b.WriteRune(rune(code))
			}
			i += digits
			continue
		}
		b.WriteString(map[byte]string{'n': "\n", 'r': "\r", 't': "\t"}[s[i]])
		if strings.IndexByte("nrt", s[i]) < 0 {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
