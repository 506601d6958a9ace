package command

import (
	"path/filepath"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// usable refuses a plugin with a schema that no call could be checked against, such as a pattern that is no regular
// expression: a guest has nothing to check its own with, and the first call would be late to say so.
func usable(m *manifest.Manifest) error {
	for _, t := range m.Tools {
		for _, s := range []struct {
			kind string
			text []byte
		}{{"input", t.InputSchema}, {"output", t.OutputSchema}} {
			if _, err := effect.CompileSchema(s.text); err != nil {
				return &console.Problem{
					Code: "schema_unusable", Exit: console.ExitNo, Cause: err,
					Message: "the " + s.kind + " schema of " + t.Name + " cannot be used: " + reasons(err),
					Remedy:  "mend it where the plugin says what it is (in Go a tag such as pattern, or sdk." + strings.ToUpper(s.kind[:1]) + s.kind[1:] + "Schema) and build it again",
				}
			}
		}
	}
	return nil
}

// reasons are the places of a schema that are wrong, each with why, without the rules of JSON Schema that lead there.
func reasons(err error) string {
	text := strings.TrimPrefix(err.Error(), "effect: compile schema: ")
	_, tree, nested := strings.Cut(text, "\n")
	if !nested {
		return text
	}
	var leaves []string
	for line := range strings.Lines(tree) {
		if line = strings.Trim(line, " -\n"); !strings.HasSuffix(line, " failed") {
			leaves = append(leaves, line)
		}
	}
	return strings.Join(leaves, "; ")
}

// usableIn is usable for a folder that is about to be installed. What else is wrong with it is for the installation to
// say.
func usableIn(dir string) error {
	raw, err := readAtMost(filepath.Join(dir, manifest.FileName), manifest.MaxBytes)
	if err != nil {
		return nil //nolint:nilerr // said by the installation
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		return nil //nolint:nilerr // said by the installation
	}
	return usable(m)
}
