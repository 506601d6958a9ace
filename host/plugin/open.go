package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Opened is a verified plugin together with its binary: exactly the bytes that were verified, so that a file which
// changes afterwards changes nothing.
type Opened struct {
	Installed
	Wasm []byte // not to be written to
}

// Open verifies and returns one version that a core pinned. digest is "sha256:<hex>" of plugin.json, as
// [Installed.Digest]. The error is a [*MissingError], a [*DigestError], a [*BrokenError], or our own trouble.
func (f *Folder) Open(ctx context.Context, id, version, digest string) (Opened, error) {
	o, err := f.load(ctx, id, version)
	if err != nil {
		return Opened{}, err
	}
	if o.Digest != digest {
		return Opened{}, &DigestError{id, version, digest, o.Digest}
	}
	return o, nil
}

// Pinned describes one version that a core pinned without reading its binary: the digest is of plugin.json, which pins
// the binary, so that what is described is what [Folder.Open] will hand out or refuse when the code is needed. That the
// binary is there and has its size is looked at. The errors are those of Open.
func (f *Folder) Pinned(ctx context.Context, id, version, digest string) (Installed, error) {
	var in Installed
	err := f.below(id, version, func(root *os.Root) (err error) {
		if in, err = f.readManifest(ctx, root, id, version); err != nil {
			return err
		}
		info, err := root.Lstat(filepath.Join(place(id, version), WasmName))
		switch {
		case err != nil || !info.Mode().IsRegular():
			return &BrokenError{id, version, WasmMissing, fmt.Sprintf("there is no plain file %s in it", WasmName)}
		case info.Size() != in.Manifest.Wasm.Size:
			return &BrokenError{id, version, WasmChanged, fmt.Sprintf("%s is not the binary that %s describes", WasmName, manifest.FileName)}
		}
		return nil
	})
	if err != nil {
		return Installed{}, err
	}
	if in.Digest != digest {
		return Installed{}, &DigestError{id, version, digest, in.Digest}
	}
	return in, nil
}

// Find verifies and describes one version, or with an empty version the newest that is not broken. Newest is by
// semantic version, a pre-release only when there is no release. Errors are those of [Folder.Open].
func (f *Folder) Find(ctx context.Context, id, version string) (Installed, error) {
	if version != "" {
		o, err := f.load(ctx, id, version)
		return o.Installed, err
	}
	all, err := f.List(ctx)
	if err != nil {
		return Installed{}, err
	}
	var broken *BrokenError
	var best *Installed
	for _, e := range all {
		switch {
		case e.ID != id:
		case e.Broken != nil:
			broken = e.Broken
		case best == nil || !prerelease(e.Version) || prerelease(best.Version):
			best = e.Installed
		}
	}
	switch {
	case best != nil:
		return *best, nil
	case broken != nil:
		return Installed{}, broken
	}
	return Installed{}, &MissingError{ID: id}
}

func prerelease(version string) bool {
	_, pre := precedence(version)
	return pre != ""
}

// Stands is a [*MissingError] when the version is not installed any more, and nothing otherwise: it looks for the folder
// and reads nothing.
func (f *Folder) Stands(id, version string) error {
	return f.below(id, version, func(root *os.Root) error {
		if _, err := root.Lstat(place(id, version)); errors.Is(err, fs.ErrNotExist) {
			return &MissingError{ID: id, Version: version}
		}
		return nil
	})
}

// load reads one version by names that a person or a file gave.
func (f *Folder) load(ctx context.Context, id, version string) (Opened, error) {
	var o Opened
	err := f.below(id, version, func(root *os.Root) (err error) {
		o, err = f.read(ctx, root, id, version)
		return err
	})
	return o, err
}

// below does something with one version in the open plugins folder, and adds to a [*MissingError] what is there
// instead.
func (f *Folder) below(id, version string, do func(*os.Root) error) error {
	if !wire.ValidPluginID(id) || !wire.ValidVersion(version) {
		return &MissingError{ID: id, Version: version}
	}
	root, exists, err := f.open()
	if err != nil {
		return err
	}
	if !exists {
		return &MissingError{ID: id, Version: version}
	}
	defer root.Close()
	err = do(root)
	var missing *MissingError
	if errors.As(err, &missing) {
		missing.Have = versions(root, id)
	}
	return err
}

// versions lists what stands below an id, for the sentence of a [MissingError]; it is a hint and may be empty.
func versions(root *os.Root, id string) []string {
	found, err := entries(root, id)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range found {
		if wire.ValidVersion(e.Name()) {
			out = append(out, e.Name())
		}
	}
	slices.SortFunc(out, compareVersions)
	return out
}
