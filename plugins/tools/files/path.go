package main

import (
	"io/fs"
	"path"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk"
)

// clean turns what a model writes for a path, such as ./docs/ or a//b, into the
// one form that the host takes. It refuses what would leave the workspace and
// says how to write it.
func clean(name string) (string, error) {
	switch {
	case name == "":
		return ".", nil
	case name[0] == '/':
		return "", sdk.Errorf(sdk.Invalid, "%s is absolute; paths begin at the workspace, as in docs/readme.md", clip(name))
	case len(name) > sdk.MaxPath:
		return "", sdk.Errorf(sdk.Invalid, "the path has %d bytes, at most %d are allowed", len(name), sdk.MaxPath)
	}
	cleaned := path.Clean(name)
	if !fs.ValidPath(cleaned) {
		return "", sdk.Errorf(sdk.Invalid, "%s does not stay inside the workspace", clip(name))
	}
	return cleaned, nil
}

// cleanFile is clean for a path that cannot be the workspace itself.
func cleanFile(name string) (string, error) {
	cleaned, err := clean(name)
	if err == nil && cleaned == "." {
		err = sdk.Errorf(sdk.Invalid, "path is the workspace itself; name a file in it")
	}
	return cleaned, err
}

// makeParents makes the directories above a file.
func makeParents(files sdk.Files, name string) error {
	if dir := path.Dir(name); dir != "." {
		return files.MkdirAll(dir)
	}
	return nil
}

// skipped are directories that listing and searching do not go into unasked:
// they hold what tools wrote, in numbers that drown everything else.
func skipped(name string) bool { return name == ".git" || name == "node_modules" }

// glob is a pattern for paths: * and ? within a name, [a-z] classes, ** for any
// number of directories. Without a slash it is for the last name alone.
type glob []string

func newGlob(pattern string) (glob, error) {
	if pattern == "" {
		return nil, nil
	}
	parts := strings.Split(strings.TrimPrefix(pattern, "./"), "/")
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return nil, sdk.Errorf(sdk.Invalid, "glob %q is not a pattern such as *.go or src/**/*.ts", clip(pattern))
		}
	}
	if len(parts) == 1 && parts[0] != "**" {
		parts = []string{"**", parts[0]}
	}
	return parts, nil
}

// match reports whether g is for name, which is relative to where the pattern
// begins. No pattern is for everything.
func (g glob) match(name string) bool {
	if g == nil {
		return true
	}
	names := strings.Split(name, "/")
	// row[j] says whether the parts so far match the first j names. One row for
	// each part keeps patterns such as **/**/**/x from branching.
	row := make([]bool, len(names)+1)
	row[0] = true
	for _, part := range g {
		next := make([]bool, len(row))
		for j := range next {
			switch {
			case part == "**":
				next[j] = row[j] || j > 0 && next[j-1]
			case j > 0 && row[j-1]:
				next[j], _ = path.Match(part, names[j-1]) // checked by newGlob
			}
		}
		row = next
	}
	return row[len(names)]
}

// clip shortens what a message repeats.
func clip(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}
