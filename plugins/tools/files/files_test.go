package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// refuses fails unless the call answers with code and words.
func refuses(t *testing.T, p *plugintest.Plugin, tool string, in any, code sdk.Code, says string) {
	t.Helper()
	f := p.Fault(t, tool, encode(t, in))
	if f.Code != code || !strings.Contains(f.Message, says) {
		t.Errorf("%s %.200s gave %s %q, want %s with %q", tool, encode(t, in), f.Code, f.Message, code, says)
	}
}

func TestPathsStayInside(t *testing.T) {
	for in, want := range map[string]string{
		"": ".", ".": ".", "a": "a", "./a/": "a", "a//b": "a/b", "a/./b/../c": "a/c", "日本/語": "日本/語", "a b": "a b",
	} {
		if got, err := clean(in); err != nil || got != want {
			t.Errorf("clean(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"/", "/etc/passwd", "..", "../a", "a/../../b", "a/..//../b", "\xff", strings.Repeat("a/", 600)} {
		if got, err := clean(in); err == nil {
			t.Errorf("clean(%q) = %q, want a refusal", in, got)
		}
	}
	p := plugintest.New(t)
	for tool, in := range map[string]any{
		"files.read":   ReadIn{Path: "../a", StartLine: 1, LineCount: 1},
		"files.list":   ListIn{Path: "/etc", Depth: 1, MaxEntries: 1},
		"files.search": SearchIn{Path: "a/../..", Pattern: "x", MaxResults: 1},
		"files.write":  WriteIn{Path: "../a"},
		"files.edit":   EditIn{Path: "..", OldText: "a", Count: 1},
		"files.move":   MoveIn{From: "a", To: "../a"},
		"files.delete": DeleteIn{Path: "./."},
	} {
		refuses(t, p, tool, in, sdk.Invalid, "workspace")
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "any/thing", true},
		{"*.go", "a.go", true},
		{"*.go", "x/y/a.go", true},
		{"*.go", "a.goo", false},
		{"**", "a/b", true},
		{"src/**/*.ts", "src/a.ts", true},
		{"src/**/*.ts", "src/x/y/a.ts", true},
		{"src/**/*.ts", "lib/src/a.ts", false},
		{"src/*.ts", "src/x/a.ts", false},
		{"./src/*.ts", "src/a.ts", true},
		{"**/x", "x", true},
		{"x/**", "x", true},
		{"[ab]?", "b1", true},
		{"[ab]?", "c1", false},
		{strings.Repeat("**/", 60) + "z", strings.Repeat("a/", 200) + "y", false}, // ends soon
	} {
		g, err := newGlob(c.pattern)
		if err != nil || g.match(c.name) != c.want {
			t.Errorf("glob %q on %q: want %v, err %v", c.pattern, c.name, c.want, err)
		}
	}
	for _, pattern := range []string{"[", "a//b", "a/", "a/[b"} {
		if _, err := newGlob(pattern); err == nil {
			t.Errorf("glob %q was accepted", pattern)
		}
	}
}

func TestReadShowsLines(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{
		"a.txt": "one\ntwo\nthree", "crlf": "one\r\ntwo\r\n", "empty": "", "nl": "\n", "日本": "語\n", "bin": "\x7fELF\x00", "latin": "caf\xe9\n",
	})
	for _, c := range []struct {
		in   ReadIn
		want ReadOut
	}{
		{ReadIn{Path: "a.txt", StartLine: 1, LineCount: 9}, ReadOut{Path: "a.txt", Bytes: 13, Text: "1\tone\n2\ttwo\n3\tthree", StartLine: 1, EndLine: 3, TotalLines: 3}},
		{ReadIn{Path: "./a.txt", StartLine: 2, LineCount: 1, Plain: true}, ReadOut{Path: "a.txt", Bytes: 13, Text: "two\n", StartLine: 2, EndLine: 2, TotalLines: 3, Truncated: true, NextLine: 3}},
		{ReadIn{Path: "crlf", StartLine: 1, LineCount: 9}, ReadOut{Path: "crlf", Bytes: 10, Text: "1\tone\n2\ttwo\n", StartLine: 1, EndLine: 2, TotalLines: 2, CRLF: true}},
		{ReadIn{Path: "empty", StartLine: 1, LineCount: 9}, ReadOut{Path: "empty", StartLine: 1}},
		{ReadIn{Path: "nl", StartLine: 1, LineCount: 9, Plain: true}, ReadOut{Path: "nl", Bytes: 1, Text: "\n", StartLine: 1, EndLine: 1, TotalLines: 1}},
		{ReadIn{Path: "日本", StartLine: 1, LineCount: 9}, ReadOut{Path: "日本", Bytes: 4, Text: "1\t語\n", StartLine: 1, EndLine: 1, TotalLines: 1}},
		{ReadIn{Path: "bin", StartLine: 1, LineCount: 9}, ReadOut{Path: "bin", Bytes: 5, Binary: true}},
		{ReadIn{Path: "latin", StartLine: 1, LineCount: 9, Plain: true}, ReadOut{Path: "latin", Bytes: 5, Text: "caf\uFFFD\n", StartLine: 1, EndLine: 1, TotalLines: 1, InvalidUTF8: true}},
	} {
		if got := plugintest.Call[ReadOut](t, p, "files.read", c.in); got != c.want {
			t.Errorf("%+v\ngave %+v\nwant %+v", c.in, got, c.want)
		}
	}
	refuses(t, p, "files.read", ReadIn{Path: "a.txt", StartLine: 4, LineCount: 1}, sdk.Invalid, "3 lines")
	refuses(t, p, "files.read", ReadIn{Path: "none", StartLine: 1, LineCount: 1}, sdk.NotFound, "none")
	refuses(t, p.Files(map[string]string{"dir/": ""}), "files.read", ReadIn{Path: "dir", StartLine: 1, LineCount: 1}, sdk.Invalid, "files.list")
	if _, err := Read(t.Context(), ReadIn{Path: "a.txt"}, sdk.Host{}); !errors.Is(err, sdk.Invalid) {
		t.Errorf("line 0 gave %v", err)
	}
}

// Reading on at next_line gives every line once, whatever their lengths.
func TestReadGoesOnAtNextLine(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "%d %s\n", i, strings.Repeat("é", i%200))
	}
	p := plugintest.New(t).Files(map[string]string{"big": b.String()})
	var got strings.Builder
	for line := 1; line != 0; {
		out := plugintest.Call[ReadOut](t, p, "files.read", ReadIn{Path: "big", StartLine: line, LineCount: 5000, Plain: true})
		if len(out.Text) > maxShown || out.TotalLines != 3000 || out.InvalidUTF8 {
			t.Fatalf("at line %d: %d bytes, %d lines, invalid %v", line, len(out.Text), out.TotalLines, out.InvalidUTF8)
		}
		got.WriteString(out.Text)
		line = out.NextLine
	}
	if got.String() != b.String() {
		t.Errorf("the pieces have %d bytes, the file %d, and they differ", got.Len(), b.Len())
	}
}

func TestReadCutsALongLine(t *testing.T) {
	long := strings.Repeat("é", maxShown)
	p := plugintest.New(t).Files(map[string]string{"long": long + "\nshort\n"})
	out := plugintest.Call[ReadOut](t, p, "files.read", ReadIn{Path: "long", StartLine: 1, LineCount: 9})
	if !out.Truncated || out.EndLine != 1 || out.NextLine != 2 || out.InvalidUTF8 || !strings.HasPrefix(long, strings.TrimPrefix(out.Text, "1\t")) || len(out.Text) < maxShown-4 {
		t.Errorf("got %d bytes, end %d, next %d, truncated %v, invalid %v", len(out.Text), out.EndLine, out.NextLine, out.Truncated, out.InvalidUTF8)
	}
	out = plugintest.Call[ReadOut](t, p, "files.read", ReadIn{Path: "long", StartLine: 2, LineCount: 9})
	if out.Text != "2\tshort\n" || out.Truncated {
		t.Errorf("the line after it is %+v", out)
	}
}

func TestReadStopsCounting(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{"huge": strings.Repeat(strings.Repeat("x", 1023)+"\n", 17<<10)})
	out := plugintest.Call[ReadOut](t, p, "files.read", ReadIn{Path: "huge", StartLine: 16384, LineCount: 9, Plain: true})
	if !out.Partial || !out.Truncated || out.TotalLines != 16384 || out.EndLine != 16384 || out.NextLine != 16385 {
		t.Errorf("got lines %d to %d of %d, next %d, partial %v", out.StartLine, out.EndLine, out.TotalLines, out.NextLine, out.Partial)
	}
	refuses(t, p, "files.read", ReadIn{Path: "huge", StartLine: 17000, LineCount: 1}, sdk.TooLarge, "16 MiB")
}

func TestWriteDoesNotReplaceUnasked(t *testing.T) {
	p := plugintest.New(t)
	out := plugintest.Call[WriteOut](t, p, "files.write", WriteIn{Path: "a/b/c.txt", Content: "abc"})
	want := WriteOut{Path: "a/b/c.txt", Bytes: 3, SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Created: true}
	if out != want {
		t.Errorf("got %+v, want %+v", out, want)
	}
	refuses(t, p, "files.write", WriteIn{Path: "a/b/c.txt", Content: "new"}, sdk.Exists, "set overwrite")
	if got, _ := p.File("a/b/c.txt"); got != "abc" {
		t.Errorf("the refused call left %q", got)
	}
	out = plugintest.Call[WriteOut](t, p, "files.write", WriteIn{Path: "a/b/c.txt", Content: "", Overwrite: true})
	if got, ok := p.File("a/b/c.txt"); out.Created || got != "" || !ok {
		t.Errorf("overwriting gave %+v and left %q", out, got)
	}
	refuses(t, p, "files.write", WriteIn{Path: "a/b", Overwrite: true}, sdk.Invalid, "directory")
	refuses(t, p, "files.write", WriteIn{Path: "a/b/c.txt/d"}, sdk.Exists, "is a file")
	p.Fail(wire.ImportFSWrite, "disk", sdk.IO, "no space left")
	refuses(t, p, "files.write", WriteIn{Path: "disk"}, sdk.IO, "no space left")
	if _, err := Write(t.Context(), WriteIn{Path: "x", Content: strings.Repeat("x", maxWrite+1)}, sdk.Host{}); err == nil {
		t.Error("content past the bound was accepted")
	}
}

func TestListIsInOrderAndBounded(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{
		"b.go": "12345", "a/x.go": "", "a/y.txt": "", "a/deep/z.go": "", ".git/config": "", "node_modules/m/i.js": "", "empty/": "",
	})
	paths := func(in ListIn) (got []string, truncated bool) {
		out := plugintest.Call[ListOut](t, p, "files.list", in)
		for _, e := range out.Entries {
			if e.Kind == "dir" {
				e.Path += "/"
			}
			got = append(got, e.Path)
		}
		return got, out.Truncated
	}
	for _, c := range []struct {
		in   ListIn
		want string
	}{
		{ListIn{Depth: 1, MaxEntries: 99}, ".git/ a/ b.go empty/ node_modules/"},
		{ListIn{Depth: 9, MaxEntries: 99}, ".git/ a/ a/deep/ a/deep/z.go a/x.go a/y.txt b.go empty/ node_modules/"},
		{ListIn{Depth: 2, Path: "./a/", MaxEntries: 99}, "a/deep/ a/deep/z.go a/x.go a/y.txt"},
		{ListIn{Depth: 9, Glob: "*.go", MaxEntries: 99}, "a/deep/z.go a/x.go b.go"},
		{ListIn{Depth: 9, Glob: "a/*", MaxEntries: 99}, "a/deep/ a/x.go a/y.txt"},
		{ListIn{Depth: 9, Path: "a", Glob: "deep/*", MaxEntries: 99}, "a/deep/z.go"},
		{ListIn{Depth: 1, Path: ".git", MaxEntries: 99}, ".git/config"},
		{ListIn{Depth: 1, Path: "empty", MaxEntries: 99}, ""},
	} {
		if got, truncated := paths(c.in); strings.Join(got, " ") != c.want || truncated {
			t.Errorf("%+v gave %v (truncated %v), want %s", c.in, got, truncated, c.want)
		}
	}
	if got, truncated := paths(ListIn{Depth: 1, MaxEntries: 2}); !reflect.DeepEqual(got, []string{".git/", "a/"}) || !truncated {
		t.Errorf("two of five are %v, truncated %v", got, truncated)
	}
	if _, truncated := paths(ListIn{Depth: 1, MaxEntries: 5}); truncated {
		t.Error("five of five are said to be cut")
	}
	refuses(t, p, "files.list", ListIn{Path: "none", Depth: 1, MaxEntries: 1}, sdk.NotFound, "none")
	refuses(t, p, "files.list", ListIn{Path: "b.go", Depth: 1, MaxEntries: 1}, sdk.Invalid, "directory")
	refuses(t, p, "files.list", ListIn{Glob: "[", Depth: 1, MaxEntries: 1}, sdk.Invalid, "glob")
	// What cannot be seen below does not hide the rest; what was asked for does.
	p.Fail(wire.ImportFSList, "a/deep", sdk.Denied, "no")
	if got, _ := paths(ListIn{Path: "a", Depth: 9, MaxEntries: 99}); strings.Join(got, " ") != "a/deep/ a/x.go a/y.txt" {
		t.Errorf("with a/deep denied: %v", got)
	}
	refuses(t, p, "files.list", ListIn{Path: "a/deep", Depth: 1, MaxEntries: 1}, sdk.Denied, "no")
}

func TestSearch(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{
		"a.txt":     "alpha\nbeta\ngamma\ndelta\nBETA\n",
		"b/c.go":    "beta()\r\nx := 1\r\n",
		"bin":       "beta\x00",
		".git/x":    "beta\n",
		"big":       strings.Repeat("beta\n", maxFile/5+1),
		"wide":      strings.Repeat("é", 300) + "zeta\n",
		"dotted":    "a.c\nabc\n",
		"backwards": "x\n\n\n",
	})
	for _, c := range []struct {
		in   SearchIn
		want SearchOut
	}{
		{SearchIn{Pattern: "^beta", MaxResults: 9}, SearchOut{Text: "a.txt:2: beta\nb/c.go:1: beta()\n", Matches: 2, Files: 2, Searched: 5, Skipped: 2}},
		{SearchIn{Pattern: "beta$", IgnoreCase: true, Path: "a.txt", MaxResults: 9}, SearchOut{Text: "a.txt:2: beta\na.txt:5: BETA\n", Matches: 2, Files: 1, Searched: 1}},
		{SearchIn{Pattern: "= 1$", Glob: "*.go", MaxResults: 9}, SearchOut{Text: "b/c.go:2: x := 1\n", Matches: 1, Files: 1, Searched: 1}},
		{SearchIn{Pattern: "a.c", Literal: true, Path: "dotted", MaxResults: 9}, SearchOut{Text: "dotted:1: a.c\n", Matches: 1, Files: 1, Searched: 1}},
		{SearchIn{Pattern: "alpha|delta", Path: "a.txt", Context: 1, MaxResults: 9}, SearchOut{Text: "a.txt:1: alpha\na.txt-2- beta\na.txt-3- gamma\na.txt:4: delta\na.txt-5- BETA\n", Matches: 2, Files: 1, Searched: 1}},
		{SearchIn{Pattern: "alpha|BETA", Path: "a.txt", Context: 1, MaxResults: 9}, SearchOut{Text: "a.txt:1: alpha\na.txt-2- beta\n--\na.txt-4- delta\na.txt:5: BETA\n", Matches: 2, Files: 1, Searched: 1}},
		{SearchIn{Pattern: "alpha|beta", Path: "a.txt", Context: 1, MaxResults: 9}, SearchOut{Text: "a.txt:1: alpha\na.txt:2: beta\na.txt-3- gamma\n", Matches: 2, Files: 1, Searched: 1}},
		{SearchIn{Pattern: "^$", Path: "backwards", MaxResults: 9}, SearchOut{Text: "backwards:2: \nbackwards:3: \n", Matches: 2, Files: 1, Searched: 1}},
		{SearchIn{Pattern: "none", Path: "a.txt", MaxResults: 9}, SearchOut{Searched: 1}},
		{SearchIn{Pattern: "a", Path: "a.txt", MaxResults: 2}, SearchOut{Text: "a.txt:1: alpha\na.txt:2: beta\n", Matches: 2, Files: 1, Searched: 1, Truncated: true}},
		{SearchIn{Pattern: "zeta", MaxResults: 9}, SearchOut{Text: "wide:1: " + strings.Repeat("é", maxLine/2) + "…\n", Matches: 1, Files: 1, Searched: 5, Skipped: 2}},
	} {
		if got := plugintest.Call[SearchOut](t, p, "files.search", c.in); got != c.want {
			t.Errorf("%+v\ngave %+v\nwant %+v", c.in, got, c.want)
		}
	}
}

func TestSearchRefusesAndStops(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{"a": "x\n", "b": "x\n", "c": "x\n"})
	refuses(t, p, "files.search", SearchIn{Pattern: "(", MaxResults: 1}, sdk.Invalid, "RE2")
	refuses(t, p, "files.search", SearchIn{Pattern: "x", Glob: "[", MaxResults: 1}, sdk.Invalid, "glob")
	refuses(t, p, "files.search", SearchIn{Pattern: "a{1000}b{1000}c{1000}d{1000}", MaxResults: 1}, sdk.TooLarge, "repetitions")
	refuses(t, p, "files.search", SearchIn{Pattern: "x", Path: "none", MaxResults: 1}, sdk.NotFound, "none")
	p.Fail(wire.ImportFSRead, "b", sdk.Denied, "no")
	if out := plugintest.Call[SearchOut](t, p, "files.search", SearchIn{Pattern: "x", MaxResults: 9}); out.Text != "a:1: x\nc:1: x\n" || out.Skipped != 1 {
		t.Errorf("with one file denied: %+v", out)
	}
	refuses(t, p, "files.search", SearchIn{Pattern: "x", Path: "b", MaxResults: 1}, sdk.Denied, "no")

	p = plugintest.New(t).Files(map[string]string{"a": "x\n", "b": "x\n", "c": "x\n"})
	p.Fail(wire.ImportFSRead, "b", sdk.TooLarge, "the call's budget for files is used up")
	if out := plugintest.Call[SearchOut](t, p, "files.search", SearchIn{Pattern: "x", MaxResults: 9}); out.Text != "a:1: x\n" || !out.Truncated {
		t.Errorf("with the budget used up: %+v", out)
	}

	many := map[string]string{}
	for i := range 6 {
		many[fmt.Sprint("f", i)] = strings.Repeat("y", maxFile-10) + "\nx\n"
	}
	if out := plugintest.Call[SearchOut](t, plugintest.New(t).Files(many), "files.search", SearchIn{Pattern: "^x", MaxResults: 9}); out.Searched != 5 || !out.Truncated {
		t.Errorf("of 24 MiB in six files: %d searched, truncated %v", out.Searched, out.Truncated)
	}
}

func TestMoveDoesNotReplace(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{"a": "A", "b": "B", "d/x": "X"})
	refuses(t, p, "files.move", MoveIn{From: "a", To: "b"}, sdk.Exists, "b is there already")
	refuses(t, p, "files.move", MoveIn{From: "none", To: "c"}, sdk.NotFound, "none")
	refuses(t, p, "files.move", MoveIn{From: "d", To: "d/e/f"}, sdk.Invalid, "")
	if b, _ := p.File("b"); b != "B" {
		t.Fatalf("a refused move left %q", b)
	}
	plugintest.Call[MoveOut](t, p, "files.move", MoveIn{From: "a", To: "new/place"})
	plugintest.Call[MoveOut](t, p, "files.move", MoveIn{From: "d", To: "e"})
	if got := strings.Join(p.FileNames(), " "); got != "b e/x new/place" {
		t.Errorf("after two moves there is %s", got)
	}
	p.Fail(wire.ImportFSStat, "q", sdk.IO, "disk")
	refuses(t, p, "files.move", MoveIn{From: "b", To: "q"}, sdk.IO, "disk")
}

func TestDelete(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{"a": "A", "d/x": "X", "empty/": ""})
	plugintest.Call[DeleteOut](t, p, "files.delete", DeleteIn{Path: "a"})
	plugintest.Call[DeleteOut](t, p, "files.delete", DeleteIn{Path: "empty"})
	refuses(t, p, "files.delete", DeleteIn{Path: "a"}, sdk.NotFound, "a")
	refuses(t, p, "files.delete", DeleteIn{Path: "d"}, sdk.Invalid, "not empty")
	if got := strings.Join(p.FileNames(), " "); got != "d/x" {
		t.Errorf("there is %s left", got)
	}
}

// A tool that only reads must not be able to write, and one that only writes
// must not be able to read: plugintest refuses what a tool has not listed.
func TestToolsAskForWhatTheyUse(t *testing.T) {
	want := map[string]string{
		"files.read": "fs.read", "files.list": "fs.read", "files.search": "fs.read",
		"files.write": "fs.write", "files.edit": "fs.read fs.write", "files.move": "fs.read fs.write", "files.delete": "fs.write",
	}
	for _, tool := range plugintest.New(t).Description().Tools {
		if got := strings.Join(tool.Capabilities, " "); got != want[tool.Name] {
			t.Errorf("%s asks for %s, want %s", tool.Name, got, want[tool.Name])
		}
		reads := want[tool.Name] == "fs.read"
		if reads != (tool.Approval == sdk.ApprovalAuto) || reads != (tool.Recovery == sdk.RecoveryRead) {
			t.Errorf("%s: approval %s, recovery %s", tool.Name, tool.Approval, tool.Recovery)
		}
	}
}
