package guestbuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// compile builds into a folder of its own, reads the binary back and trims it.
func (b *build) compile(ctx context.Context) (wasm []byte, err error) {
	b.o.progress("compiling %s with %s", b.dir, b.mod.GOVERSION)
	tmp, err := os.MkdirTemp("", "portcullis-build-")
	if err != nil {
		return nil, fmt.Errorf("guestbuild: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	out := filepath.Join(tmp, "plugin.wasm")
	args := append([]string{"build", "-o", out}, buildFlags...)
	if _, err := b.run(ctx, append(args, ".")...); err != nil {
		return nil, err
	}
	wasm, err = os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("guestbuild: %w", err)
	}
	return trim(wasm, b.o.Shorten), nil
}

// stampName is the file that says what the output was built from.
const stampName = ".build.json"

type stamp struct {
	Source   string `json:"source"` // digest of the inputs
	Wasm     string `json:"wasm"`   // file name
	SHA256   string `json:"sha256"`
	Manifest string `json:"manifest,omitempty"` // digest of plugin.json
}

// upToDate reports an output that was built from these sources and has not been
// touched since. Whatever it cannot read is simply not up to date.
func (b *build) upToDate(source string) (Result, bool) {
	raw, err := os.ReadFile(filepath.Join(b.o.OutDir, stampName))
	var s stamp
	if err != nil || json.Unmarshal(raw, &s) != nil || s.Source != source || s.Wasm != filepath.Base(s.Wasm) {
		return Result{}, false
	}
	if (s.Manifest != "") != (b.o.Describe != nil) {
		return Result{}, false
	}
	r := Result{WasmPath: filepath.Join(b.o.OutDir, s.Wasm), SHA256: s.SHA256, Skipped: true}
	wasm, err := os.ReadFile(r.WasmPath)
	if err != nil || digest(wasm) != s.SHA256 {
		return Result{}, false
	}
	r.Size = int64(len(wasm))
	if s.Manifest == "" {
		return r, true
	}
	r.ManifestPath = filepath.Join(b.o.OutDir, manifest.FileName)
	raw, err = os.ReadFile(r.ManifestPath)
	if err != nil || digest(raw) != s.Manifest {
		return Result{}, false
	}
	if r.Manifest, err = manifest.Parse(raw); err != nil {
		return Result{}, false
	}
	r.Warnings = warnings(r.Manifest)
	return r, true
}

// install puts the files in place, the stamp last. A packed binary has no
// sources, and its stamp never fits any.
func (o Options) install(wasm []byte, source string, r Result) error {
	if err := os.MkdirAll(o.OutDir, 0o755); err != nil {
		return fmt.Errorf("guestbuild: %w", err)
	}
	s := stamp{Source: source, Wasm: filepath.Base(r.WasmPath), SHA256: r.SHA256}
	if err := replaceFile(r.WasmPath, wasm); err != nil {
		return err
	}
	if r.Manifest != nil {
		raw, err := manifest.Marshal(r.Manifest)
		if err != nil {
			return fmt.Errorf("guestbuild: %w", err)
		}
		s.Manifest = digest(raw)
		if err := replaceFile(r.ManifestPath, raw); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("guestbuild: %w", err)
	}
	return replaceFile(filepath.Join(o.OutDir, stampName), append(raw, '\n'))
}

// readBinary reads a file that may be anything, up to the size of a binary.
func readBinary(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("guestbuild: %w", err)
	}
	wasm, err := io.ReadAll(io.LimitReader(f, manifest.MaxWasmBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("guestbuild: %w", err)
	}
	if len(wasm) > manifest.MaxWasmBytes {
		return nil, fmt.Errorf("guestbuild: %s has more than %d bytes", path, manifest.MaxWasmBytes)
	}
	return wasm, nil
}

// replaceFile writes beside the target and renames, so that no reader sees half
// a file.
func replaceFile(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("guestbuild: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("guestbuild: write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Chmod(0o644); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// warnings finds what a person should look at: a capability that the binary
// has no import for is asked of the operator for nothing.
func warnings(m *manifest.Manifest) []string {
	var out []string
	for _, c := range m.Capabilities {
		if !manifest.Importable(c.Name) {
			continue
		}
		if !m.Uses(c.Name) {
			out = append(out, fmt.Sprintf("capability %s is asked for, but the binary imports nothing that needs it", c.Name))
		}
	}
	for _, t := range m.Tools {
		if strings.TrimSpace(string(t.OutputSchema)) == `{"type":"object"}` {
			out = append(out, fmt.Sprintf("tool %s says nothing about its result: give an OutputSchema", t.Name))
		}
	}
	return out
}
