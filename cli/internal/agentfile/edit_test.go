package agentfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

var digest = "sha256:" + strings.Repeat("ab", 32)

func TestAPluginIsAddedAndNothingElseChanges(t *testing.T) {
	entry := func(indent string) string {
		return indent + "- id: hello\n" + indent + "  version: 1.0.0\n" + indent + "  digest: " + digest + "\n"
	}
	for name, c := range map[string]struct{ in, want string }{
		"behind others": {
			"# mine\nplugins: # all of them\n  - id: calc # sums\n    version: 0.1.0\n    digest: x # pinned\n\n# next\nmodel: {a: 1}\n",
			"# mine\nplugins: # all of them\n  - id: calc # sums\n    version: 0.1.0\n    digest: x # pinned\n" + entry("  ") + "\n# next\nmodel: {a: 1}\n",
		},
		"without indent":   {"plugins:\n- id: calc\n  version: 0.1.0\n  digest: x\nz: 1\n", "plugins:\n- id: calc\n  version: 0.1.0\n  digest: x\n" + entry("") + "z: 1\n"},
		"last line open":   {"a: 1\nplugins:\n    - id: calc", "a: 1\nplugins:\n    - id: calc\n" + entry("    ")},
		"empty brackets":   {"a: 1\nplugins: []\nb: 2\n", "a: 1\nplugins:\n" + entry("  ") + "b: 2\n"},
		"nothing there":    {"a: 1\nplugins:\nb: 2\n", "a: 1\nplugins:\n" + entry("  ") + "b: 2\n"},
		"no such key":      {"a: 1\n# end\n", "a: 1\n# end\nplugins:\n" + entry("  ")},
		"another version":  {"plugins:\n  - id: hello # hi\n    version: 0.9.0\n    digest: x\n  - id: z\nb: 2\n", "plugins:\n" + entry("  ") + "  - id: z\nb: 2\n"},
		"entry in braces":  {"plugins:\n  - {id: calc, version: 0.1.0, digest: x}\nb: 2\n", "plugins:\n  - {id: calc, version: 0.1.0, digest: x}\n" + entry("  ") + "b: 2\n"},
		"text of lines":    {"plugins:\n  - |\n    id: calc\n    more\n", "plugins:\n  - |\n    id: calc\n    more\n" + entry("  ")},
		"a name in quotes": {"plugins:\n  - \"id\": 'hello'\n    version: 0.9.0\n    digest: x\n", "plugins:\n" + entry("  ")},
	} {
		got, changed, err := AddPlugin([]byte(c.in), Pin{"hello", "1.0.0", digest})
		if err != nil || !changed || string(got) != c.want {
			t.Errorf("%s: changed %v, %v\n%s\nwant\n%s", name, changed, err, got, c.want)
			continue
		}
		again, changed, err := AddPlugin(got, Pin{"hello", "1.0.0", digest})
		if err != nil || changed || !bytes.Equal(again, got) {
			t.Errorf("%s: a second time: changed %v, %v\n%s", name, changed, err, again)
		}
	}
}

func TestACapabilityIsAddedOnce(t *testing.T) {
	got, changed, err := AddCapability([]byte("capabilities:\n  - fs.read # look\nlimits: {}\n"), "net.fetch:example.org")
	if want := "capabilities:\n  - fs.read # look\n  - net.fetch:example.org\nlimits: {}\n"; err != nil || !changed || string(got) != want {
		t.Errorf("changed %v, %v\n%s", changed, err, got)
	}
	if _, changed, err := AddCapability(got, "fs.read"); err != nil || changed {
		t.Errorf("one that is there: changed %v, %v", changed, err)
	}
}

func TestWhatCannotBeEditedSafelyIsLeftToThePerson(t *testing.T) {
	for name, in := range map[string]string{
		"brackets":      "plugins: [{id: calc, version: 0.1.0, digest: x}]\n",
		"open brackets": "plugins: [\n]\n",
		"not a list":    "plugins: 7\n",
		"explicit null": "plugins: ~\n",
		"broken":        "plugins: [\n",
		"two documents": "a: 1\n---\nb: 2\n",
		"anchor":        "a: &p\n  - id: calc\nplugins: *p\n",
		"lone return":   "plugins:\n-\r0",
		"return before": "a: 1\r\rplugins:\n",
	} {
		got, changed, err := AddPlugin([]byte(in), Pin{"hello", "1.0.0", digest})
		var byHand *ByHandError
		if !errors.As(err, &byHand) || changed || got != nil {
			t.Errorf("%s: changed %v, %v\n%s", name, changed, err, got)
			continue
		}
		if !strings.Contains(byHand.Lines, "plugins:\n  - id: hello\n    version: 1.0.0\n    digest: "+digest+"\n") {
			t.Errorf("%s: the lines are\n%s", name, byHand.Lines)
		}
	}
}

func FuzzAddPlugin(f *testing.F) {
	for _, s := range []string{"", "plugins:\n", "plugins: []\n", "plugins:\n- id: a\n", "a: 1\nplugins:\n  - id: hello\n    version: 0.1.0\n", "plugins:\n  - |\n    x\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, _, err := AddPlugin(in, Pin{"hello", "1.0.0", digest})
		if err != nil {
			return
		}
		var doc map[string]any
		if err := yaml.Unmarshal(out, &doc); err != nil {
			t.Fatalf("%q became %q, which does not decode: %v", in, out, err)
		}
		found := 0
		list, _ := doc["plugins"].([]any)
		for _, p := range list {
			if m, ok := p.(map[string]any); ok && m["id"] == "hello" && m["version"] == "1.0.0" && m["digest"] == digest {
				found++
			}
		}
		if found == 0 {
			t.Fatalf("%q became %q, without the plugin", in, out)
		}
	})
}

func TestReplaceKeepsTheModeAndRefusesLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "agent.yaml"), filepath.Join(dir, "link.yaml")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, []byte("new")); err == nil {
		t.Error("a link was followed or replaced")
	}
	if err := Replace(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(got) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, %v, mode %v, %v", got, err, info.Mode(), statErr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
