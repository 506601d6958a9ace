package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync/atomic"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Source is a plugin as it is installed.
type Source struct {
	Manifest *manifest.Manifest // valid; it pins the binary
	// Wasm is the binary; nil reads Path, at most 64 MiB.
	Wasm []byte
	Path string
	// Granted is what the operator lets the plugin do. A module that imports
	// more is refused.
	Granted Abilities
	// Settings are the operator's values; names the manifest does not have are
	// left out, names without a value get the manifest's default.
	Settings map[string]string
}

// Foreign is a module without a manifest: an Extism plugin of somebody's, or a
// test's. It is held to the same rules, apart from those about manifests.
type Foreign struct {
	Name     string
	Wasm     []byte
	Exports  []string // entry points that will be called
	Granted  Abilities
	Limits   Limits // zero means LimitsOf(wire.Limits{})
	Settings map[string]string
}

// Plugin is one loaded module. It is safe for concurrent use: each call has an
// instance to itself, in the state that initialisation left.
type Plugin struct {
	engine   *Engine
	spec     spec
	digest   string
	binary   *binary
	manifest *manifest.Manifest // nil for a foreign module
	closed   atomic.Bool
	pool     *pool
}

// Load checks and compiles a plugin. A plugin that is refused is a [*LoadError];
// ctx bounds the waiting, not the compilation.
func (e *Engine) Load(ctx context.Context, src Source) (*Plugin, error) {
	m := src.Manifest
	if m == nil {
		return nil, errors.New("sandbox: load: no manifest")
	}
	if m.ABI != wire.ABI {
		return nil, refuse(m.ID, CodeABI, "was built for host ABI %s: this host serves %s; build it again with a matching SDK", printable(m.ABI), wire.ABI)
	}
	wasm := src.Wasm
	if wasm == nil {
		var err error
		if wasm, err = readWasm(src.Path); err != nil {
			return nil, fmt.Errorf("sandbox: load %s: %w", m.ID, err)
		}
	}
	if got := digestOf(wasm); got != m.Wasm.SHA256 || int64(len(wasm)) != m.Wasm.Size {
		return nil, refuse(m.ID, CodeDigest, "has a %s that is not the one its plugin.json pins (sha256 %s, found %s): install it again", m.Wasm.File, short(m.Wasm.SHA256), short(got))
	}
	declared := m.Imports
	if declared == nil {
		declared = []string{}
	}
	p, err := e.load(ctx, wasm, spec{
		name:     m.ID,
		exports:  m.Exports,
		declared: declared,
		granted:  src.Granted,
		limits:   e.cap(LimitsOf(m.Limits)),
		settings: settingsOf(m.Settings, src.Settings),
	})
	if err != nil {
		return nil, err
	}
	p.manifest = m
	return p, nil
}

// LoadForeign checks and compiles a module that has no manifest.
func (e *Engine) LoadForeign(ctx context.Context, f Foreign) (*Plugin, error) {
	if f.Limits == (Limits{}) {
		f.Limits = LimitsOf(wire.Limits{})
	}
	return e.load(ctx, f.Wasm, spec{
		name:     f.Name,
		exports:  f.Exports,
		granted:  f.Granted,
		limits:   e.cap(f.Limits),
		settings: maps.Clone(f.Settings),
	})
}

// cap applies the engine's own bound.
func (e *Engine) cap(l Limits) Limits {
	l.Memory = min(l.Memory, e.cfg.MaxMemoryBytes)
	return l
}

func (e *Engine) load(ctx context.Context, wasm []byte, sp spec) (*Plugin, error) {
	if fault := headerFault(wasm); fault != "" {
		code := CodeNotWasm
		if len(wasm) > 8 && string(wasm[:4]) == string(wasmMagic) {
			code = CodeForeign
		}
		return nil, refuse(sp.name, code, "%s", fault)
	}
	digest := digestOf(wasm)
	c := e.use(digest)
	if c != nil {
		if le := c.binary.check(sp, e.host); le != nil {
			if err := e.drop(ctx, digest); err != nil {
				return nil, errors.Join(le, err)
			}
			return nil, le
		}
	} else {
		ready, err := e.prepare(digest, wasm, func(b *binary) *LoadError { return b.check(sp, e.host) })
		if le := (*LoadError)(nil); errors.As(err, &le) {
			return nil, le
		} else if err != nil {
			return nil, unread(sp.name, err)
		}
		if c, err = e.compile(ctx, digest, ready.declares, ready.code); err != nil {
			return nil, uncompiled(ctx, sp.name, err)
		}
	}
	return &Plugin{engine: e, spec: sp, digest: digest, binary: c.binary, pool: e.openPool()}, nil
}

// unread says why a module was refused before the engine saw it.
func unread(name string, err error) *LoadError {
	le := refuse(name, CodeMalformed, "has a .wasm file this host does not accept: %v; build it again", err)
	le.Err = err
	return le
}

// uncompiled says why there is no code, without the engine's own words.
func uncompiled(ctx context.Context, name string, err error) *LoadError {
	le := refuse(name, CodeUncompiled, "is not a valid module, or uses a WebAssembly proposal that this host does not run: build it for WebAssembly 2.0")
	switch {
	case errors.Is(err, ErrClosed):
		le = refuse(name, CodeUnavailable, "was not loaded: the host is closing")
	case ctx.Err() != nil:
		le = refuse(name, CodeUnavailable, "was not loaded in time: compiling goes on, so try again")
	}
	le.Err = err
	return le
}

// Close lets go of the plugin's code. Running calls keep theirs. Further calls
// are refused; further Closes do nothing.
func (p *Plugin) Close(ctx context.Context) error {
	if p.closed.Swap(true) {
		return nil
	}
	p.engine.closePool(p.pool)
	return p.engine.drop(ctx, p.digest)
}

// dropInstances closes the plugin's idle instances and forgets its snapshot. It
// must be called before the code that they were made of is freed, and when no
// call is running: machine code and instances go together. The next call
// initialises the plugin anew.
func (p *Plugin) dropInstances() { p.pool.empty() }

// Manifest is the plugin's manifest, nil for a foreign module. It must not be
// changed.
func (p *Plugin) Manifest() *manifest.Manifest { return p.manifest }

// Name is the plugin's id.
func (p *Plugin) Name() string { return p.spec.name }

// Limits are what one call of this plugin may use.
func (p *Plugin) Limits() Limits { return p.spec.limits }

// settingsOf joins defaults and values.
func settingsOf(known []wire.Setting, values map[string]string) map[string]string {
	out := make(map[string]string, len(known))
	for _, s := range known {
		v, ok := values[s.Name]
		if !ok {
			v = s.Default
		}
		if v != "" && len(v) <= wire.MaxSetting {
			out[s.Name] = v
		}
	}
	return out
}

// readWasm reads a regular file within the bound.
func readWasm(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errNotFile)
	}
	wasm, err := io.ReadAll(io.LimitReader(f, maxModuleBytes+1))
	if err == nil && len(wasm) > maxModuleBytes {
		err = errors.New("the .wasm file is larger than 64 MiB")
	}
	return wasm, err
}

// short shows enough of a digest to compare by eye.
func short(digest string) string { return printable(digest[:min(len(digest), 12)]) + "…" }
