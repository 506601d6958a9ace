package command

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/charmbracelet/x/vt"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/conformance/checkout"
	"github.com/b3abf3ee/portcullis/conformance/gatetest"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
)

// crafted are texts that were made to mislead a person who reads a terminal.
func crafted() []string {
	all := []string{
		"ls\r\x1b[2K   command: ls -la", "\x1b]52;c;cm0gLXJmIC8=\x07", "\x1b[2J\x1b[H", "\x1b[8mhidden\x1b[0m", "\x1b[1A\x1b[2Kanother line",
		"\x1b[?1049h", "\x1b[?25l", "\x1b[6n", "\x1b[c", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\", "\x1bP$q\x1b\\",
		"\x1b_apc\x1b\\", "\x1b^pm\x1b\\", "\x1b[31;40m", "\x1b[999;999H", "\x1bc", "\x1b(0qqq", "\x9b2J", "\u009b31m", "\u0085next", "\u008d", "\u009d0;t\u009c",
		"a\bb\bc", "a\tb", "a\vb\fc", "a\nallow? [a/s/d]> a", "a\r\nrisk low", "\x00nul", "\x7f\x7f\x7fdel", "\x0e\x0f", "\x07\x07",
		"\u202egnp.exe", "\u202dabc\u202c", "\u2066a\u2069", "\u200eab\u200f", "\u061cab", "\u200b\u200c\u200d", "\u2060\ufeff", "rm\u00ad -rf", "\u2028\u2029",
		"\u3164\u3164", "\uffa0\u115f\u1160", "\u2800\u2800", "e\u0301\u0301\u0301", "Z\u0351\u036b\u0343\u032a\u0302", "x\ufe0f\ufe0e", "y\U000e0100\U000e01ef",
		"\U000e0041\U000e007f", "\u034f\u17b4\u17b5", "\u180b\u180e", "\u0440\u043c -\u0433f /", "\uff52\uff4d", "\U0001d5cb\U0001d5c6", "\u05d0\u05d1 abc", "\u0627\u0644",
		"‹U+001B›", `\u001b[2J`, strings.Repeat("harmless ", 200) + "; rm -rf /", strings.Repeat("\u3164", 300) + "; rm -rf /", strings.Repeat(" ", 400) + "; rm -rf /",
		"日本語", "\U0001f600\u200d\U0001f525", "\ufffd\ufffe\uffff", "ĳŉſıĸ", "ªº×÷", "é ü ß Ž",
	}
	return all
}

// naughty is the big list of naughty strings.
func naughty(t *testing.T) []string {
	t.Helper()
	var all []string
	if err := json.Unmarshal(checkout.ReadData(t, "naughty-strings", "blns.json"), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// quoted is text as a JSON string in which nothing stands but printable ASCII and the letters that a question may hold,
// written down once more here and not taken from what is tested.
func quoted(text string) string {
	letters := "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ" +
		"ĀāĂăĄąĆćĈĉĊċČčĎďĐđĒēĔĕĖėĘęĚěĜĝĞğĠġĢģĤĥĦħĨĩĪīĬĭĮįİĴĵĶķĹĺĻļĽľŁłŃńŅņŇňŊŋŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŦŧŨũŪūŬŭŮůŰűŲųŴŵŶŷŸŹźŻżŽž"
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strings.ContainsRune("\n\r\t", r):
			b.WriteString(map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[r])
		case r >= ' ' && r <= '~' || strings.ContainsRune(letters, r):
			b.WriteRune(r)
		default:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

const columns = 100

// screenOf is what a terminal shows after out was written to it, cell by cell.
func screenOf(t *testing.T, out string, rows int) []string {
	t.Helper()
	term := vt.NewEmulator(columns, rows)
	go func() { // a terminal that was made to answer must not hold the test up
		for buf := make([]byte, 256); ; {
			if _, err := term.Read(buf); err != nil {
				return
			}
		}
	}()
	defer term.Close()
	if _, err := term.WriteString(strings.ReplaceAll(out, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	lines := make([]string, rows)
	for y := range rows {
		var b strings.Builder
		for x := range columns {
			if c := term.CellAt(x, y); c == nil || c.Content == "" {
				b.WriteByte(' ')
			} else {
				b.WriteString(c.Content)
			}
		}
		lines[y] = b.String()
	}
	return lines
}

// laidOut is text as a screen must show it when nothing in it does anything but stand there.
func laidOut(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		r := []rune(line)
		for first := true; first || len(r) > 0; first = false {
			n := min(len(r), columns)
			lines = append(lines, string(r[:n])+strings.Repeat(" ", columns-n))
			r = r[n:]
		}
	}
	return append(lines, strings.Repeat(" ", columns), strings.Repeat(" ", columns)) // and nothing below
}

// planned is a tool that plans to run a program with one word.
type planned struct{ word string }

func (p planned) Plan(context.Context, effect.Call) (effect.Plan, effect.Objection) {
	return effect.Plan{
		Argv: []string{"/bin/echo", p.word}, Dir: "/srv", Env: []string{"LANG"}, Notes: []string{p.word}, Cacheable: true,
		Operands: []effect.Operand{{Role: "executable", Path: "/bin/echo", SHA256: strings.Repeat("ab", 32)}},
	}, effect.Objection{}
}

func (planned) Invoke(context.Context, effect.Call) effect.Outcome {
	return effect.Outcome{Status: effect.Succeeded, Result: []byte(`{}`)}
}

// TestAQuestionLooksLikeWhatItIs passes every text through the real gate to the real prompt, as an argument and as a word
// of a plan, and holds what a terminal then shows against what was asked, cell by cell.
func TestAQuestionLooksLikeWhatItIs(t *testing.T) {
	var out bytes.Buffer
	text := console.NewText(&out, false, 0)
	person := &typist{text: text}
	w := gatetest.New(t, approval.Config{Prompter: person})
	b := w.Admit(gatetest.Talker("a"), gatetest.Fresh(), gatetest.Core{ID: "assistant", Revision: "r", Capabilities: []string{"tool.call:a.b"}})
	blns, own := naughty(t), crafted()
	if len(blns) != 515 || len(own) < 60 {
		t.Fatalf("%d naughty and %d crafted texts, 515 and 60 are due", len(blns), len(own))
	}
	equal := 0
	for i, s := range append(blns, own...) {
		s = strings.ToValidUTF8(s, "\ufffd") // what is not UTF-8 is no JSON and never gets here
		args, err := json.Marshal(map[string]string{"key": s})
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		res := w.Run(t.Context(), b, effect.Setup{}, gatetest.Tool("a.b", planned{s}), args)
		if res.Reason != approval.ReasonDenied {
			t.Errorf("text %d %+q was not asked about: %s %s", i, s, res.Status, res.Reason)
			continue
		}
		q := w.Questions()[0]
		want := "a.b wants to run (risk medium)\n" +
			"from       the host itself, for principal:conversation:chat:a in core assistant\n" +
			"uses       tool.call:a.b\n" +
			"asked by   tool: own mode of a.b: prompt (decides)\n" +
			`arguments  {"key":` + quoted(s) + "}\n" +
			`would run  "/bin/echo" ` + quoted(s) + "\n" +
			"in folder  \"/srv\"\nsets       \"LANG\"\n" +
			"executable \"/bin/echo\" sha256:abababababab\n" +
			"note       " + quoted(s) + "\n" +
			"question   " + string(q.ID) + ", input sha256:" + q.Digest[:12] + "\n" +
			"  a        allow this call, this once\n" +
			"  s        until this session ends, allow this same call again, with exactly these arguments\n" +
			"  d        deny\n" +
			"answer [a/s/d]> "
		if raw, err := hex.DecodeString(q.Digest); err != nil || len(raw) != 32 {
			t.Fatalf("digest %q", q.Digest)
		}
		if !sameScreen(t, i, s, out.String(), want) {
			continue
		}
		out.Reset()
		sayQuestion(console.NewText(&out, true, 0), q) // with colours: the same, in bold where the host says so
		bold := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(out.String())
		if !strings.HasPrefix(want, bold) || strings.Count(out.String(), "\x1b") != 2 {
			t.Errorf("text %d %+q with colours: %q", i, s, out.String())
			continue
		}
		out.Reset()
		text.Table([]string{"approval", "arguments"}, [][]any{{q.ID, console.Cut(q.Arguments, 40)}})
		if bad := acts(out.String()); bad != "" {
			t.Errorf("text %d %+q in the list: %s", i, s, bad)
			continue
		}
		equal++
	}
	t.Logf("approval screens: %d of %d (%d naughty, %d crafted), each as argument and as word of a plan, equal cell by cell; no control byte", equal, len(blns)+len(own), len(blns), len(own))
}

// sameScreen compares bytes, then cells.
func sameScreen(t *testing.T, i int, s, out, want string) bool {
	t.Helper()
	if bad := acts(out); bad != "" {
		t.Errorf("text %d %+q: %s", i, s, bad)
		return false
	}
	wanted := laidOut(want)
	for y, line := range screenOf(t, out, len(wanted)) {
		if line != wanted[y] {
			t.Errorf("text %d %+q: line %d of the screen\n got %q\nwant %q", i, s, y, line, wanted[y])
			return false
		}
	}
	return true
}

// acts names the first thing in out that a terminal would do anything with but show it in one cell.
func acts(out string) string {
	for at, r := range out {
		if r != '\n' && r != '…' && (r < ' ' || r > '~' && r < 0xC0 || r > 0x17F && !strings.ContainsRune("‹›─│┌┐└┘├┤┬┴┼", r)) {
			return fmt.Sprintf("%+q at byte %d is given to the terminal", r, at)
		}
	}
	return ""
}

// typist asks as the program does and types d.
type typist struct{ text *console.Text }

func (p *typist) Prompt(ctx context.Context, q approval.Question) (approval.Answer, error) {
	lines := console.NewLines(strings.NewReader("d\n"))
	defer lines.Close()
	ans, err := (&asker{lines: lines, text: p.text}).Prompt(ctx, q)
	ans.By = q.Principal
	return ans, err
}
