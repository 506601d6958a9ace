package plugin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// Names below the home.
const (
	// FolderName is where plugins live below the home.
	FolderName = "plugins"
	// WasmName is the binary's name once installed, whatever its manifest called it at the source.
	WasmName = "plugin.wasm"
)

// Prefixes of folders that are not a plugin yet, or not any more.
const (
	newPrefix  = ".new-"
	gonePrefix = ".gone-"
)

// Folder is the plugins folder of one home. It holds no state but the path and is safe for concurrent use, by
// several processes too.
type Folder struct {
	path string

	// step is called before each change on disk with the change's name; tests make it fail. It is never nil.
	step func(name string) error
	// exchange is the system's; tests take it away.
	exchange func(in *os.File, name string, other *os.File, with string) error
}

// At returns the plugins folder of the home at the given path. Nothing is read or made until it is needed.
func At(home string) *Folder {
	return &Folder{path: filepath.Join(home, FolderName), step: func(string) error { return nil }, exchange: exchange}
}

// Path is the folder's place on disk.
func (f *Folder) Path() string { return f.path }

// Installed is one plugin that was verified whole.
type Installed struct {
	ID       string
	Version  string
	Digest   string // "sha256:<hex>" of plugin.json, which pins the binary
	Manifest *manifest.Manifest
	Path     string // of the folder
}

// WasmPath is where the binary is. Reading it again later needs checking it again: see [Opened.Wasm].
func (i Installed) WasmPath() string { return filepath.Join(i.Path, WasmName) }

// open returns the folder as a root that nothing can lead out of. exists is false, without an error, when no plugin
// was ever installed.
func (f *Folder) open() (root *os.Root, exists bool, err error) {
	info, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("plugin: look at %s: %w", f.path, err)
	case !info.IsDir():
		return nil, false, &SourceError{f.path, "not_a_folder", "is not a folder (links are not followed); move it away"}
	}
	root, err = os.OpenRoot(f.path)
	if err != nil {
		return nil, false, fmt.Errorf("plugin: open %s: %w", f.path, err)
	}
	return root, true, nil
}

// place is a version's folder below the root.
func place(id, version string) string { return filepath.Join(id, version) }

// digestOf is how a digest is written everywhere.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// byIDThenVersion is the order of listings: names alphabetically, newest version last.
func byIDThenVersion(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), compareVersions(a.Version, b.Version), cmp.Compare(a.Version, b.Version))
}
