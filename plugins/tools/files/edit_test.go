package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func TestEditReplacesOnce(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{"a.txt": "one\ntwo\nthree\n"})
	out := plugintest.Call[EditOut](t, p, "files.edit", EditIn{Path: "a.txt", OldText: "two", NewText: "2", Count: 1})
	want := "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
	if out.Diff != want || out.Replaced != 1 || out.Bytes != 12 || out.SHA256 != digest([]byte("one\n2\nthree\n")) {
		t.Errorf("got %+v, want the diff\n%s", out, want)
	}
	if got, _ := p.File("a.txt"); got != "one\n2\nthree\n" {
		t.Errorf("the file has %q", got)
	}
}

func TestEditRefusesAndLeavesTheFile(t *testing.T) {
	const before = "x = 1\n\tif a {\n\t}\nx = 1\naaa\n"
	p := plugintest.New(t).Files(map[string]string{"a": before, "bin": "a\xff", "big": strings.Repeat("a", maxEdited+1), "dir/": "", "ro": "text"})
	for _, c := range []struct {
		in   EditIn
		code sdk.Code
		says string
	}{
		{EditIn{Path: "a", OldText: "x = 1", NewText: "y", Count: 1}, sdk.Invalid, "occurs 2 times, at line 1, 4, and count is 1"},
		{EditIn{Path: "a", OldText: "x = 1", NewText: "y", Count: 3}, sdk.Invalid, "occurs 2 times"},
		{EditIn{Path: "a", OldText: "aa", NewText: "y", Count: 1}, sdk.Invalid, "overlaps itself in the file, at line 5, 5"},
		{EditIn{Path: "a", OldText: "aa", NewText: "y", Count: 2}, sdk.Invalid, "overlaps"},
		{EditIn{Path: "a", OldText: "x = 1", NewText: "x = 1", Count: 2}, sdk.Invalid, "the same"},
		{EditIn{Path: "a", OldText: "nothing like it", NewText: "y", Count: 1}, sdk.NotFound, "look at it with files.read"},
		{EditIn{Path: "a", OldText: "    if a {\n    }", NewText: "y", Count: 1}, sdk.NotFound, "only in spaces at the ends of lines is at line 2"},
		{EditIn{Path: "a", OldText: "2\t\tif a {\n3\t\t}\n", NewText: "y", Count: 1}, sdk.NotFound, "line numbers of files.read in it, which are not in the file; leave them out. The text is at line 2"},
		{EditIn{Path: "none", OldText: "x", NewText: "y", Count: 1}, sdk.NotFound, "none"},
		{EditIn{Path: "dir", OldText: "x", NewText: "y", Count: 1}, sdk.Invalid, "no file"},
		{EditIn{Path: "bin", OldText: "a", NewText: "y", Count: 1}, sdk.Invalid, "UTF-8"},
		{EditIn{Path: "big", OldText: "a", NewText: "y", Count: 1}, sdk.TooLarge, "4194304"},
		{EditIn{Path: "a", OldText: "", NewText: "y", Count: 1}, sdk.Invalid, ""},
		{EditIn{Path: "a", OldText: "a", NewText: "y", Count: 1001}, sdk.Invalid, ""},
	} {
		refuses(t, p, "files.edit", c.in, c.code, c.says)
	}
	if got, _ := p.File("a"); got != before {
		t.Errorf("the refused calls left %q", got)
	}
	p.Fail(wire.ImportFSWrite, "ro", sdk.Denied, "read only")
	refuses(t, p, "files.edit", EditIn{Path: "ro", OldText: "text", NewText: "y", Count: 1}, sdk.Denied, "read only")
}

func TestEditBounds(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{
		"many": strings.Repeat("a\n", 1001), "all": strings.Repeat("a\n", 1000), "near": strings.Repeat("b", maxEdited-1) + "a",
	})
	refuses(t, p, "files.edit", EditIn{Path: "many", OldText: "a", NewText: "b", Count: 1000}, sdk.Invalid, "more than 1000 times")
	refuses(t, p, "files.edit", EditIn{Path: "near", OldText: "a", NewText: "cc", Count: 1}, sdk.TooLarge, "would have 4194305 bytes")
	out := plugintest.Call[EditOut](t, p, "files.edit", EditIn{Path: "all", OldText: "a\n", NewText: strings.Repeat("b", 100) + "\n", Count: 1000})
	if out.Replaced != 1000 || !out.DiffTruncated || len(out.Diff) > maxShown || !strings.HasSuffix(out.Diff, "\n") {
		t.Errorf("replaced %d, diff of %d bytes, truncated %v", out.Replaced, len(out.Diff), out.DiffTruncated)
	}
	if got, _ := p.File("all"); got != strings.Repeat(strings.Repeat("b", 100)+"\n", 1000) {
		t.Error("not every line was replaced")
	}
}

func TestEditKeepsCRLF(t *testing.T) {
	p := plugintest.New(t).Files(map[string]string{"win": "one\r\ntwo\r\nthree\r\n", "mixed": "one\r\ntwo\nthree\n"})
	plugintest.Call[EditOut](t, p, "files.edit", EditIn{Path: "win", OldText: "one\ntwo\n", NewText: "1\n2\n2.5\n", Count: 1})
	if got, _ := p.File("win"); got != "1\r\n2\r\n2.5\r\nthree\r\n" {
		t.Errorf("the file has %q", got)
	}
	plugintest.Call[EditOut](t, p, "files.edit", EditIn{Path: "mixed", OldText: "two\nthree", NewText: "2\n3", Count: 1})
	if got, _ := p.File("mixed"); got != "one\r\n2\n3\n" {
		t.Errorf("the file has %q", got)
	}
}

// FuzzReplace: an edit that is made replaces one region, the only place where
// the old text is, and nothing else; any other is a fault.
func FuzzReplace(f *testing.F) {
	f.Add("one\ntwo\n", "two", "2")
	f.Add("aaa", "aa", "b")
	f.Add("a\r\nb\r\n", "a\nb", "c\nd")
	f.Add("x", "", "y")
	f.Add("1\tx", "1\tx", "")
	f.Add("日本", "\xe6", "a")
	f.Fuzz(func(t *testing.T, content, old, new string) {
		changed, edits, err := replace(content, old, new, 1)
		if err != nil {
			if !errors.Is(err, sdk.Invalid) && !errors.Is(err, sdk.NotFound) {
				t.Fatalf("the refusal %v has no code", err)
			}
			return
		}
		if len(edits) != 1 {
			t.Fatalf("%d regions were replaced", len(edits))
		}
		e := edits[0]
		was := content[e.Start:e.End]
		if strings.ReplaceAll(was, "\r\n", "\n") != strings.ReplaceAll(old, "\r\n", "\n") ||
			strings.ReplaceAll(e.New, "\r\n", "\n") != strings.ReplaceAll(new, "\r\n", "\n") {
			t.Fatalf("%q was replaced by %q, asked was %q by %q", was, e.New, old, new)
		}
		if changed != content[:e.Start]+e.New+content[e.End:] {
			t.Fatalf("%q became %q, which is more than that edit", content, changed)
		}
		if strings.Index(content, was) != e.Start || strings.LastIndex(content, was) != e.Start {
			t.Fatalf("%q is in %q more than once", was, content)
		}
	})
}
