package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Source is a plugin as it is installed.
type Source struct {
	Manifest *manifest.Manifest // valid; it pins the binary
	// Wasm is the binary, Path its file of at most 64 MiB. One is enough. With a
	// Path the bytes are let go after loading: should the plugin's machine code
	// vanish from the cache folder, the file is read again, and must be the same.
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
	module   *module
	binary   *binary            // what it declares
	manifest *manifest.Manifest // nil for a foreign module
	closed   atomic.Bool
	pool     *pool
	share    *share
	// alone says that the module imports nothing that waits for somebody: its
	// calls end with their context by themselves.
	alone bool
}

// Load checks a plugin and sees to it that there is machine code for it: with a
// cache folder that has it, nothing is compiled and nothing brought into memory
// before the first call. A plugin that is refused is a [*LoadError]. When ctx
// ends, so does the compilation, unless others wait for it.
func (e *Engine) Load(ctx context.Context, src Source) (*Plugin, error) {
	m := src.Manifest
	if m == nil {
		return nil, errors.New("sandbox: load: no manifest")
	}
	if m.ABI != wire.ABI {
		return nil, refuse(m.ID, CodeABI, "was built for host ABI %s: this host serves %s; build it again with a matching SDK", printable(m.ABI), wire.ABI)
	}
	from := original{wasm: src.Wasm, path: src.Path}
	digest, size, err := from.digest()
	if err != nil {
		return nil, fmt.Errorf("sandbox: load %s: %w", m.ID, err)
	}
	if digest != m.Wasm.SHA256 || size != m.Wasm.Size {
		return nil, refuse(m.ID, CodeDigest, "has a %s that is not the one its plugin.json pins (sha256 %s, found %s): install it again", m.Wasm.File, short(m.Wasm.SHA256), short(digest))
	}
	declared := m.Imports
	if declared == nil {
		declared = []string{}
	}
	p, err := e.load(ctx, from, digest, spec{
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
	return e.load(ctx, original{wasm: f.Wasm}, digestOf(f.Wasm), spec{
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

func (e *Engine) load(ctx context.Context, from original, digest string, sp spec) (*Plugin, error) {
	declares, known := e.declared(digest)
	var fresh []byte
	if known {
		if le := declares.check(sp, e.host); le != nil {
			return nil, le
		}
	} else {
		ready, err := e.compileFirst(ctx, from, digest, sp)
		if err != nil {
			return nil, err
		}
		declares, fresh = ready.declares, ready.code
	}
	p := &Plugin{engine: e, spec: sp, digest: digest, binary: declares, pool: e.openPool(), alone: declares.alone()}
	e.attach(p, func() *module {
		m := &module{digest: digest, declares: declares, original: from, plugins: map[*Plugin]struct{}{}}
		if from.path != "" {
			m.original.wasm = nil
		}
		if e.kept == nil {
			m.fresh = fresh
		}
		return m
	})
	if e.kept == nil {
		if err := e.once(ctx, "load "+digest, func(ctx context.Context) error { return e.ready(ctx, p.module) }); err != nil {
			return nil, errors.Join(e.uncompiled(ctx, sp.name, err), p.Close(context.WithoutCancel(ctx)))
		}
	}
	return p, nil
}

// declared is what a module declares, from memory or the disk.
func (e *Engine) declared(digest string) (*binary, bool) {
	e.mu.Lock()
	m := e.modules[digest]
	e.mu.Unlock()
	if m != nil {
		return m.declares, true
	}
	if e.kept == nil {
		return nil, false
	}
	r, ok := e.kept.find(digest)
	return r.facts, ok
}

// compileFirst reads, checks and meters a module, and compiles it when there is
// a folder for the code. The error is a [*LoadError], or about reading.
func (e *Engine) compileFirst(ctx context.Context, from original, digest string, sp spec) (readyModule, error) {
	wasm, err := from.read()
	if err != nil {
		return readyModule{}, fmt.Errorf("sandbox: load %s: %w", sp.name, err)
	}
	if digestOf(wasm) != digest {
		return readyModule{}, fmt.Errorf("sandbox: load %s: its file is being written", sp.name)
	}
	if fault := headerFault(wasm); fault != "" {
		code := CodeNotWasm
		if len(wasm) > 8 && string(wasm[:4]) == string(wasmMagic) {
			code = CodeForeign
		}
		return readyModule{}, refuse(sp.name, code, "%s", fault)
	}
	ready, err := prepare(wasm, func(b *binary) *LoadError { return b.check(sp, e.host) })
	if le := (*LoadError)(nil); errors.As(err, &le) {
		return readyModule{}, le
	} else if err != nil {
		return readyModule{}, unread(sp.name, err)
	}
	if e.kept != nil {
		err = e.compile(ctx, digest, ready)
	} else {
		err = e.failed.recall(digest, e.cfg.Clock())
	}
	if err != nil {
		return readyModule{}, e.uncompiled(ctx, sp.name, err)
	}
	return ready, nil
}

// unread says why a module was refused before the engine saw it.
func unread(name string, err error) *LoadError {
	le := refuse(name, CodeMalformed, "has a .wasm file this host does not accept: %v; build it again", err)
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
	return p.engine.detach(ctx, p)
}

// dropInstances closes the plugin's idle instances and forgets its snapshot. It
// is called before the code that they were made of is freed, and when no call
// runs in that: machine code and instances go together. The next call
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

// short shows enough of a digest to compare by eye.
func short(digest string) string { return printable(digest[:min(len(digest), 12)]) + "…" }
