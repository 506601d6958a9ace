package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/template"

	"github.com/b3abf3ee/portcullis"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Spec says which plugin to write.
type Spec struct {
	Dir     string // where: must not exist, or be an empty folder
	ID      string // plugin id, see [wire.ValidPluginID]
	Version string // of the sdk, as in "v1.2.3"
	Go      string // language version of go.mod, as in "1.26"
	// Language is one of [Languages]; empty is go. Version and Go are for that one alone.
	Language string
}

// Commands is what to type after Write, in order, from a new plugin to the call of a tool that uses what was granted.
// dir is the plugin's folder as a shell takes it, or "." for someone who is in it.
func Commands(dir, id, language string) []string {
	if language != "" && language != goLanguage {
		return []string{
			"sh " + dir + "/build.sh",
			"portcullis plugin pack " + dir + "/plugin.wasm",
			"portcullis plugin install " + dir + "/" + builtFolder + " --core assistant",
			"portcullis call " + ToolPrefix(id) + `.greet --args '{"name":"Ada"}'`,
		}
	}
	test, build := "go -C "+dir+" test ./...", "portcullis plugin build "+dir
	if dir == "." {
		test, build = "go test ./...", "portcullis plugin build"
	}
	return []string{
		test,
		build,
		"portcullis plugin install " + dir + " --core assistant",
		"portcullis plugin grant " + id + " kv",
		"portcullis call " + ToolPrefix(id) + `.count --args '{"name":"Ada"}'`,
	}
}

// NameError reports an id that no plugin may have.
type NameError struct{ ID string }

// Error says what a name looks like.
func (e *NameError) Error() string {
	return fmt.Sprintf("%q is not a plugin id: a lower-case letter, then at most 39 lower-case letters, digits or dashes", e.ID)
}

// TakenError reports a target that is there already and is not an empty folder.
type TakenError struct{ Dir string }

// Error names the target.
func (e *TakenError) Error() string { return e.Dir + " exists already and is not an empty folder" }

// ToolPrefix is the first word of the tools of a plugin: its id without dashes, which tool names do not have.
func ToolPrefix(id string) string { return strings.ReplaceAll(id, "-", "") }

//go:embed template/*.tmpl
var templates embed.FS

// files says which template makes which file.
func files() map[string]string {
	return map[string]string{
		"main.go": "main.go.tmpl", "greet.go": "greet.go.tmpl", "count.go": "count.go.tmpl",
		"main_test.go": "main_test.go.tmpl", "go.mod": "go.mod.tmpl", "README.md": "README.md.tmpl", ".gitignore": "gitignore.tmpl",
	}
}

// Write writes the plugin. The error is a [*NameError], a [*LanguageError], a [*TakenError], or the disk's; after any error the target is
// as it was.
func Write(s Spec) error {
	if !wire.ValidPluginID(s.ID) {
		return &NameError{s.ID}
	}
	if !known(s.Language) {
		return &LanguageError{s.Language}
	}
	if err := free(s.Dir); err != nil {
		return err
	}
	content, err := render(s)
	if err != nil {
		return err
	}
	parent := filepath.Dir(s.Dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("scaffold: make %s: %w", parent, err)
	}
	temp, err := os.MkdirTemp(parent, ".portcullis-new-")
	if err != nil {
		return fmt.Errorf("scaffold: make a folder in %s: %w", parent, err)
	}
	defer os.RemoveAll(temp) // gone already when all went well
	for name, data := range content {
		target := filepath.Join(temp, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("scaffold: write %s: %w", name, err)
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return fmt.Errorf("scaffold: write %s: %w", name, err)
		}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return fmt.Errorf("scaffold: open the folder to others: %w", err)
	}
	// An empty folder gives way; one that got content since is not removed and stops us.
	if err := os.Remove(s.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &TakenError{s.Dir}
	}
	if err := os.Rename(temp, s.Dir); err != nil {
		return fmt.Errorf("scaffold: move the plugin to %s: %w", s.Dir, err)
	}
	return nil
}

func free(dir string) error {
	found, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR) || len(found) > 0:
		return &TakenError{dir}
	case err != nil:
		return fmt.Errorf("scaffold: look into %s: %w", dir, err)
	}
	return nil
}

// render makes every file of the plugin by its slash-separated name.
func render(s Spec) (map[string][]byte, error) {
	if s.Language != "" && s.Language != goLanguage {
		return written(s)
	}
	all, err := template.ParseFS(templates, "template/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("scaffold: read the templates: %w", err)
	}
	values := struct {
		Spec
		Tool, Module, SDK string
		Commands          []string
	}{s, ToolPrefix(s.ID), portcullis.Module, portcullis.Module + "/sdk", Commands(".", s.ID, s.Language)}
	out := map[string][]byte{}
	for name, tmpl := range files() {
		var buf bytes.Buffer
		if err := all.ExecuteTemplate(&buf, tmpl, values); err != nil {
			return nil, fmt.Errorf("scaffold: make %s: %w", name, err)
		}
		out[name] = buf.Bytes()
	}
	return out, vendored(s, out)
}

// vendored adds the sdk under vendor/ with the list that the go command checks against go.mod.
func vendored(s Spec, out map[string][]byte) error {
	sdk := portcullis.SDK()
	packages := map[string]bool{}
	err := fs.WalkDir(sdk, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := fs.ReadFile(sdk, name)
		out[path.Join("vendor", portcullis.Module, name)] = data
		if strings.HasSuffix(name, ".go") {
			packages[path.Join(portcullis.Module, path.Dir(name))] = true
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("scaffold: copy the sdk: %w", err)
	}
	list := strings.Join(slices.Sorted(maps.Keys(packages)), "\n")
	out["vendor/modules.txt"] = fmt.Appendf(nil, "# %s %s\n## explicit; go %s\n%s\n", portcullis.Module, s.Version, s.Go, list)
	return nil
}
