package core

import (
	_ "embed" // the texts that init writes
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// File is one file to be written, below the home.
type File struct {
	Path  string // with slashes
	Mode  fs.FileMode
	Bytes []byte
}

// DefaultID is the core that `portcullis init` writes.
const DefaultID = "assistant"

//go:embed default/agent.yaml
var defaultAgent string

//go:embed default/soul.md
var defaultSoul string

//go:embed default/script.yaml
var defaultScript string

//go:embed default/policy.yaml
var defaultTable string

//go:embed default/config.yaml
var defaultHost string

// pluginsMark is the line of default/agent.yaml that the plugins replace.
const pluginsMark = "plugins: []\n"

// Default returns the files of the core assistant, using the given plugins: what `portcullis init` writes. It runs
// offline with the scripted provider; its comments say how to change that. [Load] accepts what it returns as long
// as the pins are valid.
func Default(plugins []Pin) []File {
	return []File{
		{path.Join(FolderName, DefaultID, AgentFile), 0o600, []byte(withPlugins(defaultAgent, plugins))},
		{path.Join(FolderName, DefaultID, SurfaceFolder, SoulFile), 0o600, []byte(defaultSoul)},
		{path.Join(FolderName, DefaultID, SurfaceFolder, "script.yaml"), 0o600, []byte(defaultScript)},
	}
}

func withPlugins(text string, plugins []Pin) string {
	if len(plugins) == 0 {
		return text
	}
	sorted := slices.SortedFunc(slices.Values(plugins), func(a, b Pin) int { return strings.Compare(a.ID, b.ID) })
	var list strings.Builder
	list.WriteString("plugins:\n")
	for _, p := range sorted {
		fmt.Fprintf(&list, "  - id: %s\n    version: %q\n    digest: %s\n", p.ID, p.Version, p.Digest)
	}
	return strings.Replace(text, pluginsMark, list.String(), 1)
}

// DefaultHostConfig returns the config.yaml that `portcullis init` writes: no provider, nothing opened, and a
// comment on every key.
func DefaultHostConfig() File { return File{HostFile, 0o600, []byte(defaultHost)} }

// DefaultTable returns the policy.yaml that `portcullis init` writes: what the gate decides for the core assistant with
// the bundled plugins, and a comment on how to go on.
func DefaultTable() File { return File{TableFile, 0o600, []byte(defaultTable)} }
