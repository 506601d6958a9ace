package guestbuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// Options says what to build and where to.
type Options struct {
	// Dir is the folder of the plugin's main package.
	Dir string
	// OutDir gets the binary, plugin.json and a stamp. It is made when missing
	// and belongs to this one plugin.
	OutDir string
	// Env replaces os.Environ as what the cleaned environment is taken from.
	Env []string
	// Progress, when set, is told what happens, one line at a time.
	Progress func(line string)
	// Describe runs the binary's portcullis_describe where it can do no harm
	// and returns its output. When nil no manifest is made and the binary is
	// named after Dir.
	Describe func(ctx context.Context, wasm []byte) ([]byte, error)
	// Shorten, when set, writes the code of Go's compiler in fewer instructions
	// that do the same. stack is the index of the global that holds the stack
	// pointer. What it cannot read it returns as it is. Builds with it and
	// without are different builds of the same sources.
	Shorten func(wasm []byte, stack uint32) []byte
}

// Result is a finished build.
type Result struct {
	WasmPath     string
	SHA256       string // of the binary, lower-case hex
	Size         int64  // of the binary, bytes
	ManifestPath string // "" without Options.Describe
	Manifest     *manifest.Manifest
	// Skipped says that the sources had not changed and nothing was compiled.
	Skipped bool
	// Warnings are things to look at that do not make the plugin invalid.
	Warnings []string
}

// Build builds one plugin. Errors to expect: [*ToolchainError], [*CompileError]
// and, wrapped, [*manifest.InvalidError]. Cancelling ctx stops the compiler.
//
// Two builds of one plugin at once, also in two processes, do the work twice
// and end with the same files; two of different sources into one OutDir may
// leave files of both, which the next build notices.
func Build(ctx context.Context, o Options) (Result, error) {
	b, err := newBuild(ctx, o)
	if err != nil {
		return Result{}, err
	}
	source, err := b.sourceDigest(ctx)
	if err != nil {
		return Result{}, err
	}
	if r, ok := b.upToDate(source); ok {
		o.progress("unchanged: %s", r.WasmPath)
		return r, nil
	}
	wasm, err := b.compile(ctx)
	if err != nil {
		return Result{}, err
	}
	r, err := o.describe(ctx, b.dir, wasm)
	if err != nil {
		return Result{}, err
	}
	if err := o.install(wasm, source, r); err != nil {
		return Result{}, err
	}
	o.progress("built %s (%d bytes)", r.WasmPath, r.Size)
	return r, nil
}

// Pack makes a plugin of a binary that another toolchain built: it copies the
// file to OutDir under the plugin's id and writes plugin.json beside it. Dir is
// not used, and Describe must be set. Nothing is skipped.
func Pack(ctx context.Context, wasmPath string, o Options) (Result, error) {
	if o.Describe == nil {
		return Result{}, errors.New("guestbuild: packing needs Options.Describe")
	}
	wasm, err := readBinary(wasmPath)
	if err != nil {
		return Result{}, err
	}
	r, err := o.describe(ctx, wasmPath, wasm)
	if err != nil {
		return Result{}, err
	}
	if err := o.install(wasm, "", r); err != nil {
		return Result{}, err
	}
	o.progress("packed %s (%d bytes)", r.WasmPath, r.Size)
	return r, nil
}

// BuildAll builds one plugin after another, since one go build keeps every core
// busy already. It goes on after a failure and joins the errors; a plugin that
// failed has the zero Result.
func BuildAll(ctx context.Context, all []Options) ([]Result, error) {
	results := make([]Result, len(all))
	var errs []error
	for i, o := range all {
		if err := ctx.Err(); err != nil {
			return results, errors.Join(append(errs, err)...)
		}
		var err error
		if results[i], err = Build(ctx, o); err != nil {
			errs = append(errs, err)
		}
	}
	return results, errors.Join(errs...)
}

// build is the state of one build.
type build struct {
	o   Options
	dir string // absolute
	env []string
	mod module
}

func newBuild(ctx context.Context, o Options) (*build, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("guestbuild: %s: %w", o.Dir, err)
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("guestbuild: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("guestbuild: %s is not a folder: name the folder of the plugin's main package", dir)
	}
	b := &build{o: o, dir: dir}
	if b.o.Env == nil {
		b.o.Env = os.Environ()
	}
	b.env = cleanEnv(b.o.Env, "")
	b.mod, err = b.findModule(ctx)
	if err != nil {
		return nil, err
	}
	b.env = cleanEnv(b.o.Env, b.mod.vendorFlag())
	return b, nil
}

func (o Options) progress(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// describe says what a binary is: with Options.Describe, its manifest as well,
// validated. from is what errors name.
func (o Options) describe(ctx context.Context, from string, wasm []byte) (Result, error) {
	r := Result{SHA256: digest(wasm), Size: int64(len(wasm))}
	symbols, err := ReadSymbols(wasm)
	if err != nil {
		return r, &BinaryError{File: from, Cause: err}
	}
	if o.Describe == nil {
		r.WasmPath = filepath.Join(o.OutDir, filepath.Base(from)+".wasm")
		return r, nil
	}
	o.progress("describing")
	raw, err := o.Describe(ctx, wasm)
	if err != nil {
		return r, fmt.Errorf("guestbuild: describe %s: %w", from, err)
	}
	d, err := manifest.ParseDescription(raw)
	if err != nil {
		return r, &BinaryError{File: from, Cause: fmt.Errorf("what portcullis_describe answers: %w", err)}
	}
	w := manifest.Wasm{File: d.ID + ".wasm", SHA256: r.SHA256, Size: r.Size}
	r.Manifest = manifest.New(d, w, symbols.Exports, symbols.Imports)
	if err := r.Manifest.Validate(); err != nil {
		return r, fmt.Errorf("guestbuild: %s: %w%s", from, err, hint(r.Manifest))
	}
	r.Warnings = warnings(r.Manifest)
	r.WasmPath = filepath.Join(o.OutDir, w.File)
	r.ManifestPath = filepath.Join(o.OutDir, manifest.FileName)
	return r, nil
}

// hint explains imports that an author never wrote: when every one is there, it
// was the linker.
func hint(m *manifest.Manifest) string {
	for _, name := range []string{"fs.read", "fs.write", "kv", "net.fetch"} {
		if !m.Uses(name) {
			return ""
		}
	}
	return "\n  hint: the binary imports every host function. If the plugin does not call them, it uses a package that" +
		" looks methods up by name (text/template, html/template), which makes Go's linker keep them all: do without it"
}

// BinaryError says that a file cannot be a plugin, whoever compiled it: it is no
// WebAssembly module, or it describes itself in a way that nobody can read.
type BinaryError struct {
	File  string
	Cause error
}

// Error names the file and what is wrong with it.
func (e *BinaryError) Error() string { return "guestbuild: " + e.File + ": " + e.Cause.Error() }

// Unwrap gives what the reader of the bytes said.
func (e *BinaryError) Unwrap() error { return e.Cause }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
