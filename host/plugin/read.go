package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// notPlain is what a reader says of a link, a folder, a pipe.
var errNotPlain = errors.New("is not a plain file (links are not followed)")

// errTooLarge is what a reader says past its limit.
var errTooLarge = errors.New("is too large")

// openPlain opens a regular file below root without following a link at its end. A file that is swapped between the
// look and the opening is noticed.
func openPlain(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errNotPlain
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, nil, errors.Join(err, errNotPlain)
	}
	return f, after, nil
}

// readPlain reads such a file whole, at most limit bytes of it.
func readPlain(root *os.Root, name string, limit int64) ([]byte, error) {
	f, info, err := openPlain(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var buf bytes.Buffer
	buf.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	n, err := buf.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// readManifest reads and validates plugin.json of one installed version, without looking at the binary it pins. The
// error is a [*BrokenError], a [*MissingError], or our own trouble.
func (f *Folder) readManifest(ctx context.Context, root *os.Root, id, version string) (Installed, error) {
	broken := func(r Reason, format string, args ...any) (Installed, error) {
		return Installed{}, &BrokenError{id, version, r, fmt.Sprintf(format, args...)}
	}
	if err := ctx.Err(); err != nil {
		return Installed{}, fmt.Errorf("plugin: read %s %s: %w", id, version, err)
	}
	dir := place(id, version)
	for _, name := range []string{id, dir} {
		info, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return Installed{}, &MissingError{ID: id, Version: version}
		case err != nil:
			return Installed{}, fmt.Errorf("plugin: look at %s: %w", filepath.Join(f.path, name), err)
		case !info.IsDir():
			return broken(NotAFolder, "a file or link stands where a folder belongs")
		}
	}
	text, err := readPlain(root, filepath.Join(dir, manifest.FileName), manifest.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotPlain):
		return broken(ManifestMissing, "there is no plain file %s in it", manifest.FileName)
	case errors.Is(err, errTooLarge):
		return broken(ManifestInvalid, "%s has more than %d bytes", manifest.FileName, manifest.MaxBytes)
	case err != nil:
		return Installed{}, fmt.Errorf("plugin: read the manifest of %s %s: %w", id, version, err)
	}
	m, err := manifest.Parse(text)
	if err != nil {
		return broken(ManifestInvalid, "%v", err)
	}
	if m.ID != id || m.Version != version {
		return broken(WrongPlace, "its manifest is of %s %s", m.ID, m.Version)
	}
	return Installed{ID: id, Version: version, Digest: digestOf(text), Manifest: m, Path: filepath.Join(f.path, dir)}, nil
}

// read verifies one installed version whole. The errors are those of readManifest.
func (f *Folder) read(ctx context.Context, root *os.Root, id, version string) (Opened, error) {
	broken := func(r Reason, format string, args ...any) (Opened, error) {
		return Opened{}, &BrokenError{id, version, r, fmt.Sprintf(format, args...)}
	}
	in, err := f.readManifest(ctx, root, id, version)
	if err != nil {
		return Opened{}, err
	}
	m, dir := in.Manifest, place(id, version)
	wasm, err := readPlain(root, filepath.Join(dir, WasmName), manifest.MaxWasmBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotPlain):
		return broken(WasmMissing, "there is no plain file %s in it", WasmName)
	case errors.Is(err, errTooLarge):
		return broken(WasmChanged, "%s has more than %d bytes", WasmName, manifest.MaxWasmBytes)
	case err != nil:
		return Opened{}, fmt.Errorf("plugin: read the binary of %s %s: %w", id, version, err)
	}
	if sum := sha256.Sum256(wasm); int64(len(wasm)) != m.Wasm.Size || hex.EncodeToString(sum[:]) != m.Wasm.SHA256 {
		return broken(WasmChanged, "%s is not the binary that %s describes", WasmName, manifest.FileName)
	}
	if stray, err := f.stray(root, dir); stray != "" || err != nil {
		if err != nil {
			return Opened{}, err
		}
		return broken(StrayFile, "%q does not belong there", stray)
	}
	return Opened{Installed: in, Wasm: wasm}, nil
}

// stray names one thing in a version's folder that is not the plugin's.
func (f *Folder) stray(root *os.Root, dir string) (string, error) {
	names, err := entries(root, dir)
	if err != nil {
		return "", fmt.Errorf("plugin: list %s: %w", filepath.Join(f.path, dir), err)
	}
	for _, n := range names {
		if n.Name() != manifest.FileName && n.Name() != WasmName {
			return n.Name(), nil
		}
	}
	return "", nil
}

// entries lists a folder below root in alphabetical order.
func entries(root *os.Root, dir string) ([]fs.DirEntry, error) {
	return fs.ReadDir(root.FS(), filepath.ToSlash(dir))
}
