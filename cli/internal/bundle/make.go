package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// Options says how to make plugins.
type Options struct {
	Env      []string // environment of the Go toolchain; nil: this process's
	Work     string   // a folder for plugins that are written out; made when missing
	Describe func(ctx context.Context, wasm []byte) ([]byte, error)
	Step     func(line string) // told before each longer step; may be nil
}

// Made is one plugin that can be installed from Dir.
type Made struct {
	Name     string
	Dir      string
	Manifest *manifest.Manifest
	Built    bool // compiled just now, not found finished
	Warnings []string
}

// Make makes the named plugins. Errors are those of [guestbuild.Build], or the disk's.
func (s Source) Make(ctx context.Context, o Options, names ...string) ([]Made, error) {
	if o.Step == nil {
		o.Step = func(string) {}
	}
	out := make([]Made, 0, len(names))
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("bundle: make %s: %w", name, context.Cause(ctx))
		}
		one := s.build
		if s.Embedded != nil {
			one = s.unpack
		}
		made, err := one(ctx, o, name, fmt.Sprintf("plugin %d of %d", i+1, len(names)))
		if err != nil {
			return nil, err
		}
		out = append(out, made)
	}
	return out, nil
}

// GuestFolder is where a checkout keeps the built form of one of its plugins.
func (s Source) GuestFolder(name string) string {
	return filepath.Join(s.Checkout, ".build", "guests", name)
}

// Finished is a plugin that the source has ready, without building anything: its manifest and the digest that pins it.
// false: it must be built first.
func (s Source) Finished(name string) (m *manifest.Manifest, digest string, ok bool) {
	tree := s.Embedded
	if tree == nil {
		tree = os.DirFS(filepath.Dir(s.GuestFolder(name)))
	}
	raw, err := fs.ReadFile(tree, path.Join(name, manifest.FileName))
	if err != nil {
		return nil, "", false
	}
	if m, err = manifest.Parse(raw); err != nil {
		return nil, "", false
	}
	sum := sha256.Sum256(raw)
	return m, "sha256:" + hex.EncodeToString(sum[:]), true
}

func (s Source) build(ctx context.Context, o Options, name, which string) (Made, error) {
	dir := filepath.Join(s.Checkout, filepath.FromSlash(pluginTree), name)
	out := s.GuestFolder(name)
	if err := os.MkdirAll(out, 0o755); errors.Is(err, fs.ErrPermission) {
		out = filepath.Join(o.Work, name) // a checkout that is not ours to write in
	} else if err != nil {
		return Made{}, fmt.Errorf("bundle: make %s: %w", out, err)
	}
	o.Step(which + ": " + name)
	r, err := guestbuild.Build(ctx, guestbuild.Options{
		Dir: dir, OutDir: out, Env: o.Env, Describe: o.Describe, Shorten: wasmbin.Shorten,
		Progress: func(line string) { o.Step(which + ": " + name + ": " + line) },
	})
	if err != nil {
		return Made{}, err
	}
	return Made{name, out, r.Manifest, !r.Skipped, r.Warnings}, nil
}

func (s Source) unpack(_ context.Context, o Options, name, which string) (Made, error) {
	o.Step(which + ": " + name)
	raw, err := fs.ReadFile(s.Embedded, path.Join(name, manifest.FileName))
	if err != nil {
		return Made{}, fmt.Errorf("bundle: read %s: %w", name, err)
	}
	m, err := manifest.Parse(raw)
	if err != nil {
		return Made{}, fmt.Errorf("bundle: read %s: %w", name, err)
	}
	wasm, err := fs.ReadFile(s.Embedded, path.Join(name, m.Wasm.File))
	if err != nil {
		return Made{}, fmt.Errorf("bundle: read %s: %w", name, err)
	}
	dir := filepath.Join(o.Work, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Made{}, fmt.Errorf("bundle: write out %s: %w", name, err)
	}
	for file, data := range map[string][]byte{manifest.FileName: raw, m.Wasm.File: wasm} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			return Made{}, fmt.Errorf("bundle: write out %s: %w", name, err)
		}
	}
	return Made{Name: name, Dir: dir, Manifest: m}, nil
}
