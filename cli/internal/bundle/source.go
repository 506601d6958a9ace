package bundle

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis"
)

// pluginTree is where a checkout has the sources of tool plugins.
const pluginTree = "plugins/tools"

// Source is where the bundled plugins come from. Exactly one member is set.
type Source struct {
	Embedded fs.FS  // one folder for each plugin, with plugin.json and its wasm file
	Checkout string // absolute folder of the repository
}

// NowhereError says that there is neither a bundle in the program nor a checkout.
type NowhereError struct {
	Looked []string // folders whose parents were searched
	Why    string   // what is wrong with a checkout that was named, or ""
}

// Error is a sentence without the remedy.
func (e *NowhereError) Error() string {
	if e.Why != "" {
		return e.Why
	}
	return "this program carries no plugins, and there is no checkout of " + portcullis.Module + " around " + strings.Join(e.Looked, " or ") + " to build them from"
}

// Find decides where plugins come from. named is a folder that a person gave, or "". around are folders in whose
// parents a checkout is looked for, in order. The error is a [*NowhereError].
func Find(named string, around ...string) (Source, error) {
	if named != "" {
		if !isCheckout(named) {
			return Source{}, &NowhereError{Why: named + " is not a checkout of " + portcullis.Module}
		}
		return Source{Checkout: named}, nil
	}
	if guests := portcullis.Guests(); guests != nil {
		return Source{Embedded: guests}, nil
	}
	for _, dir := range around {
		for dir != "" {
			if isCheckout(dir) {
				return Source{Checkout: dir}, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return Source{}, &NowhereError{Looked: around}
}

// isCheckout reports a folder whose go.mod is this module's and that has plugins in it.
func isCheckout(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		if name, ok := strings.CutPrefix(strings.TrimSpace(scan.Text()), "module "); ok {
			info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(pluginTree)))
			return strings.TrimSpace(name) == portcullis.Module && err == nil && info.IsDir()
		}
	}
	return false
}

// Names lists the plugins that the source has, sorted.
func (s Source) Names() ([]string, error) {
	tree := s.Embedded
	if tree == nil {
		tree = os.DirFS(filepath.Join(s.Checkout, filepath.FromSlash(pluginTree)))
	}
	found, err := fs.ReadDir(tree, ".")
	if err != nil {
		return nil, fmt.Errorf("bundle: list the plugins: %w", err)
	}
	var names []string
	for _, e := range found {
		if !e.IsDir() {
			continue
		}
		if s.Checkout != "" {
			if _, err := fs.Stat(tree, e.Name()+"/main.go"); errors.Is(err, fs.ErrNotExist) {
				continue // a folder without a plugin in it yet
			}
		}
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, nil
}
