package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// source is a plugin that was read whole from where its author left it: what is written is what was verified.
type source struct {
	manifest *manifest.Manifest
	text     []byte // plugin.json as it was
	digest   string
	wasm     []byte
}

// readSource reads and verifies before anything is written.
func readSource(ctx context.Context, from string) (source, error) {
	if err := ctx.Err(); err != nil {
		return source{}, fmt.Errorf("plugin: read %s: %w", from, err)
	}
	refuse := func(code, format string, args ...any) (source, error) {
		return source{}, &SourceError{from, code, fmt.Sprintf(format, args...)}
	}
	dir := from
	info, err := os.Stat(from) // a person typed this path: links in it are theirs
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("not_found", "does not exist; give the folder that holds %s", manifest.FileName)
	case err != nil:
		return source{}, fmt.Errorf("plugin: look at %s: %w", from, err)
	case !info.IsDir() && filepath.Base(from) != manifest.FileName:
		return refuse("not_a_folder", "is neither a folder nor a %s; build one with `portcullis plugin build DIR`", manifest.FileName)
	case !info.IsDir():
		dir = filepath.Dir(from)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return source{}, fmt.Errorf("plugin: open %s: %w", dir, err)
	}
	defer root.Close()

	var s source
	s.text, err = readPlain(root, manifest.FileName, manifest.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("manifest_missing", "has no %s; make one with `portcullis plugin build DIR`", manifest.FileName)
	case errors.Is(err, errNotPlain), errors.Is(err, errTooLarge):
		return refuse("manifest_invalid", "has a %s that %v; make it again with `portcullis plugin build DIR`", manifest.FileName, err)
	case err != nil:
		return source{}, fmt.Errorf("plugin: read %s in %s: %w", manifest.FileName, dir, err)
	}
	s.digest = digestOf(s.text)
	if s.manifest, err = manifest.Parse(s.text); err != nil {
		return refuse("manifest_invalid", "has a %s that is refused: %v", manifest.FileName, err)
	}
	if err := ctx.Err(); err != nil {
		return source{}, fmt.Errorf("plugin: read %s: %w", from, err)
	}
	w := s.manifest.Wasm
	s.wasm, err = readPlain(root, w.File, min(w.Size, manifest.MaxWasmBytes))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("wasm_missing", "has no %s, which its %s names; build it with `portcullis plugin build DIR`", w.File, manifest.FileName)
	case errors.Is(err, errNotPlain):
		return refuse("wasm_missing", "has a %s that %v; put the file itself there", w.File, err)
	case err != nil && !errors.Is(err, errTooLarge):
		return source{}, fmt.Errorf("plugin: read %s in %s: %w", w.File, dir, err)
	}
	if sum := sha256.Sum256(s.wasm); err != nil || int64(len(s.wasm)) != w.Size || hex.EncodeToString(sum[:]) != w.SHA256 {
		return refuse("wasm_changed", "has a %s that is not the one its %s describes; build both again with `portcullis plugin build DIR`", w.File, manifest.FileName)
	}
	return s, nil
}
