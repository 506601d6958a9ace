package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRevisionIsOfContentAlone(t *testing.T) {
	files := []File{
		{"cores/assistant/agent.yaml", 0o600, []byte(small)},
		{"cores/assistant/README.md", 0o600, []byte("For people.\n")},
		{"cores/assistant/agent/soul.md", 0o600, []byte("Be careful.\n")},
		{"cores/assistant/agent/script.yaml", 0o600, []byte("version: 1\n")},
		{"cores/assistant/agent/notes/a.md", 0o600, []byte("a")},
	}
	one := t.TempDir()
	write(t, one, files...)
	want := load(t, one).Revision()
	// The format is a promise: worked out apart from this code with
	//   { printf 'portcullis core tree 1\n'; for f in README.md agent.yaml agent/notes/a.md agent/script.yaml agent/soul.md; do
	//     printf '%s\n%d\n' "$f" "$(wc -c <"$f")"; cat "$f"; printf '\n'; done; } | sha256sum
	const golden = "89a09f945186bdfb55af961283309bc8fca6427428616d1248206dc53c035d16"
	if want != "sha256:"+golden {
		t.Errorf("revision %s, want sha256:%s", want, golden)
	}

	two := t.TempDir()
	slices.Reverse(files)
	for i := range files {
		files[i].Mode = 0o640
	}
	write(t, two, files...)
	write(t, two, File{"cores/assistant/agent/.soul.md.swp", 0o600, []byte("x")}, File{"cores/assistant/agent.yaml~", 0o600, nil}, File{"cores/assistant/agent.yaml.bak", 0o600, nil}, File{"cores/assistant/agent/soul.md.orig", 0o600, nil}, File{"cores/assistant/.git/HEAD", 0o600, nil})
	if err := os.Mkdir(filepath.Join(two, "cores/assistant/agent/empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(two, "cores/assistant/agent/soul.md"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := load(t, two).Revision(); got != want {
		t.Errorf("order, mode, time or leftovers changed the revision: %s", got)
	}
	for _, change := range []File{
		{"cores/assistant/README.md", 0o600, []byte("For people!\n")},
		{"cores/assistant/agent/more.md", 0o600, nil},
		{"cores/assistant/agent/notes/a.md", 0o600, []byte("b")},
	} {
		three := t.TempDir()
		write(t, three, files...)
		write(t, three, change)
		if got := load(t, three).Revision(); got == want {
			t.Errorf("changing %s left the revision as it was", change.Path)
		}
	}
}

func TestTreeIsListedInOrder(t *testing.T) {
	home := homeWith(t, small)
	write(t, home, File{"cores/assistant/agent/sub/b.txt", 0o600, nil}, File{"cores/assistant/agent/sub/a.json", 0o600, nil})
	want := []string{"agent.yaml", "agent/script.yaml", "agent/soul.md", "agent/sub/a.json", "agent/sub/b.txt"}
	if got := load(t, home).Files(); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

func TestTreeFaultsNameTheFile(t *testing.T) {
	core := func(name string) string { return "cores/assistant/" + name }
	for name, c := range map[string]struct {
		harm func(t *testing.T, dir string)
		want string
	}{
		"no manifest":    {func(t *testing.T, dir string) { remove(t, dir+"/agent.yaml") }, core("agent.yaml: is missing")},
		"no soul":        {func(t *testing.T, dir string) { remove(t, dir+"/agent/soul.md") }, core("agent/soul.md: is missing; write there")},
		"empty soul":     {func(t *testing.T, dir string) { put(t, dir+"/agent/soul.md", " \n") }, core("agent/soul.md: is empty")},
		"binary soul":    {func(t *testing.T, dir string) { put(t, dir+"/agent/soul.md", "a\x00b") }, core("agent/soul.md: is not plain UTF-8 text")},
		"latin-1 soul":   {func(t *testing.T, dir string) { put(t, dir+"/agent/soul.md", "caf\xe9") }, core("agent/soul.md: is not plain UTF-8 text")},
		"long soul":      {func(t *testing.T, dir string) { put(t, dir+"/agent/soul.md", strings.Repeat("x", maxSoul+1)) }, core("agent/soul.md: has 262145 bytes")},
		"program":        {func(t *testing.T, dir string) { put(t, dir+"/agent/run.sh", "") }, core("agent/run.sh: is of no kind that a core has")},
		"no extension":   {func(t *testing.T, dir string) { put(t, dir+"/agent/notes", "") }, core("agent/notes: is of no kind")},
		"odd name":       {func(t *testing.T, dir string) { put(t, dir+"/agent/a b.md", "") }, core("agent/a b.md: has a name")},
		"top level file": {func(t *testing.T, dir string) { put(t, dir+"/soul.md", "") }, core("soul.md: does not belong there")},
		"top level folder": {func(t *testing.T, dir string) {
			if err := os.Mkdir(dir+"/tools", 0o700); err != nil {
				t.Fatal(err)
			}
		}, core("tools: does not belong there")},
		"linked soul":     {func(t *testing.T, dir string) { link(t, dir+"/agent/soul.md") }, core("agent/soul.md: is not a plain file (links are not followed)")},
		"linked manifest": {func(t *testing.T, dir string) { link(t, dir+"/agent.yaml") }, core("agent.yaml: is not a plain file (links are not followed)")},
		"linked folder": {func(t *testing.T, dir string) {
			if err := os.Rename(dir+"/agent", filepath.Join(t.TempDir(), "x")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(t.TempDir(), dir+"/agent"); err != nil {
				t.Fatal(err)
			}
		}, core("agent: does not belong there")},
		"linked subfolder": {func(t *testing.T, dir string) {
			if err := os.Symlink(t.TempDir(), dir+"/agent/more.md"); err != nil {
				t.Fatal(err)
			}
		}, core("agent/more.md: is not a plain file")},
		"linked core": {func(t *testing.T, dir string) {
			if err := os.Rename(dir, dir+"x"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(dir+"x", dir); err != nil {
				t.Fatal(err)
			}
		}, "cores/assistant: is not a folder (links are not followed)"},
		"long file": {func(t *testing.T, dir string) { put(t, dir+"/agent/a.md", strings.Repeat("x", MaxFileBytes+1)) }, core("agent/a.md: has more than 1048576 bytes")},
		"many bytes": {func(t *testing.T, dir string) {
			for i := range 9 {
				put(t, fmt.Sprintf("%s/agent/%d.md", dir, i), strings.Repeat("x", MaxFileBytes))
			}
		}, "cores/assistant: has more than 8388608 bytes in all"},
		"many files": {func(t *testing.T, dir string) {
			for i := range MaxFiles {
				put(t, fmt.Sprintf("%s/agent/%d.md", dir, i), "")
			}
		}, "cores/assistant: has more than 128 files"},
		"deep": {func(t *testing.T, dir string) {
			deep := dir + "/agent/a/b/c/d/e/f/g"
			if err := os.MkdirAll(deep, 0o700); err != nil {
				t.Fatal(err)
			}
		}, core("agent/a/b/c/d/e/f: is nested more than 6 folders deep")},
	} {
		t.Run(name, func(t *testing.T) {
			home := homeWith(t, small)
			c.harm(t, filepath.Join(home, "cores", "assistant"))
			_, err := Load(t.Context(), home, "assistant")
			says(t, err, c.want)
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// link moves a file away and leaves a link to it: the content is right, the file is not the core's.
func link(t *testing.T, path string) {
	t.Helper()
	away := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, path); err != nil {
		t.Fatal(err)
	}
}

// A link that leads a workspace into the home would let an agent edit its own rules.
func TestWorkspaceIsJudgedBehindLinks(t *testing.T) {
	home, outside := homeWith(t, small+"workspace: workspace/out\n"), t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(home, "workspace", "out")
	if err := os.Symlink(outside, out); err != nil {
		t.Fatal(err)
	}
	if c := load(t, home); c.Workspace() != out {
		t.Errorf("workspace %q", c.Workspace())
	}
	remove(t, out)
	for _, to := range []string{filepath.Join(home, "cores"), home, filepath.Dir(home)} {
		if err := os.Symlink(to, out); err != nil {
			t.Fatal(err)
		}
		_, err := Load(t.Context(), home, "assistant")
		says(t, err, "agent.yaml:4:12: workspace")
		remove(t, out)
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	home := homeWith(t, small)
	if _, err := Load(ctx, home, "assistant"); !errors.Is(err, context.Canceled) || Faults(err) != nil {
		t.Errorf("Load = %v", err)
	}
	if _, err := List(ctx, home); !errors.Is(err, context.Canceled) {
		t.Errorf("List = %v", err)
	}
	if _, err := LoadHost(ctx, home); !errors.Is(err, context.Canceled) {
		t.Errorf("LoadHost = %v", err)
	}
}
