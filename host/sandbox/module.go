package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// module is what the engine knows of one binary: what it declares, who uses it,
// and its machine code while that is in memory. Plugins of the same bytes share
// it; the last that is closed lets it go.
type module struct {
	digest   string
	declares *binary
	original original

	// The rest is guarded by Engine.mu.
	plugins map[*Plugin]struct{}
	calls   int      // that run in code, or are about to
	code    *machine // nil: not in memory
	lastUse uint64   // Engine.uses when a call last began
	fresh   []byte   // the metered module, where no folder keeps it; until it is compiled
}

// original is where a module's bytes are found again: they are needed when its
// machine code has gone from the disk.
type original struct {
	wasm []byte // nil: in the file
	path string
}

func (o original) read() ([]byte, error) {
	if o.wasm != nil {
		return o.wasm, nil
	}
	return readWasm(o.path)
}

// digest reads a file through once and keeps nothing.
func (o original) digest() (digest string, size int64, err error) {
	if o.wasm != nil {
		return digestOf(o.wasm), int64(len(o.wasm)), nil
	}
	f, err := openWasm(o.path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	return digestFrom(io.LimitReader(f, maxModuleBytes+1))
}

// openWasm opens a regular file.
func openWasm(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, errNotFile)
	}
	return f, nil
}

// readWasm reads a regular file within the bound.
func readWasm(path string) ([]byte, error) {
	f, err := openWasm(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	wasm, err := io.ReadAll(io.LimitReader(f, maxModuleBytes+1))
	if err == nil && len(wasm) > maxModuleBytes {
		err = errors.New("the .wasm file is larger than 64 MiB")
	}
	return wasm, err
}

// attach counts a plugin in. know makes the module when this is its first.
func (e *Engine) attach(p *Plugin, know func() *module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.modules[p.digest]
	if m == nil {
		m = know()
		e.modules[p.digest] = m
	}
	m.plugins[p] = struct{}{}
	p.module, p.share = m, e.join(p.spec.name)
}

// detach counts a plugin out; after the last the code goes, or when the last
// call comes back.
func (e *Engine) detach(ctx context.Context, p *Plugin) error {
	e.mu.Lock()
	delete(p.module.plugins, p)
	e.quit(p.share)
	gone := e.unused(p.module)
	e.mu.Unlock()
	return e.free(ctx, gone)
}

// unused takes the code of a module that nobody uses any more. Engine.mu is held.
func (e *Engine) unused(m *module) []eviction {
	if len(m.plugins) > 0 || m.calls > 0 {
		return nil
	}
	if e.modules[m.digest] == m {
		delete(e.modules, m.digest)
	}
	return e.take(m)
}

// enter counts a call in and returns the code it runs in, which stays until
// [Engine.leave]. Code that is not in memory is loaded first, once for all calls
// that wait for it.
func (e *Engine) enter(ctx context.Context, m *module) (*machine, error) {
	e.mu.Lock()
	m.calls++
	e.uses++
	m.lastUse = e.uses
	code := m.code
	e.mu.Unlock()
	for code == nil {
		err := e.once(ctx, "load "+m.digest, func(ctx context.Context) error { return e.ready(ctx, m) })
		if err != nil {
			return nil, errors.Join(err, e.leave(ctx, m))
		}
		e.mu.Lock()
		code = m.code
		e.mu.Unlock()
	}
	return code, nil
}

// leave counts a call out. An error of freeing code is the engine's.
func (e *Engine) leave(ctx context.Context, m *module) error {
	e.mu.Lock()
	m.calls--
	gone := e.unused(m)
	e.mu.Unlock()
	return e.free(context.WithoutCancel(ctx), gone)
}

// ready loads a module's code from the disk, and makes it anew when what lies
// there is not what was written. Without a folder it compiles.
func (e *Engine) ready(ctx context.Context, m *module) error {
	e.mu.Lock()
	there, fresh := m.code != nil, m.fresh
	e.mu.Unlock()
	switch {
	case there:
		return nil
	case e.kept == nil && fresh == nil: // its code went with its last plugin, and a call of that one is still to end
		again, err := m.prepareAgain()
		if err != nil {
			return err
		}
		return e.compileHere(ctx, m, again.code)
	case e.kept == nil:
		return e.compileHere(ctx, m, fresh)
	}
	code, err := e.fromDisk(ctx, m)
	if err != nil && ctx.Err() == nil {
		if err = e.compileAgain(ctx, m); err == nil {
			code, err = e.fromDisk(ctx, m)
		}
	}
	if err != nil {
		return err
	}
	return e.keep(ctx, m, code)
}

// compileAgain makes an entry of a module whose plugin is loaded already.
func (e *Engine) compileAgain(ctx context.Context, m *module) error {
	again, err := m.prepareAgain()
	if err != nil {
		return err
	}
	return e.compile(ctx, m.digest, again)
}

// prepareAgain makes the metered module anew, from the bytes that the plugin was loaded from and no others.
func (m *module) prepareAgain() (readyModule, error) {
	wasm, err := m.original.read()
	if err != nil {
		return readyModule{}, fmt.Errorf("sandbox: read a module again: %w", err)
	}
	if digestOf(wasm) != m.digest {
		return readyModule{}, errors.New("sandbox: a module's file has changed since it was loaded")
	}
	return prepare(wasm, nil)
}

// compileHere compiles in this process, for an engine without a folder. Its code
// goes with the module's last plugin only.
func (e *Engine) compileHere(ctx context.Context, m *module, metered []byte) error {
	work, stop := context.WithTimeoutCause(ctx, e.cfg.CompileTimeout, errCompileTime)
	defer stop()
	code, err := openMachine(work, e.cfg, "", m.declares.imports, metered)
	if err != nil {
		err = blame(work, err)
		if own := (*compileError)(nil); errors.As(err, &own) {
			e.failed.remember(m.digest, own, e.cfg.Clock())
		}
		return err
	}
	code.bytes += codePerByte * int64(len(metered))
	e.mu.Lock()
	m.fresh = nil
	e.mu.Unlock()
	return e.keep(ctx, m, code)
}

// codePerByte is about how much machine code a byte of a module becomes.
const codePerByte = 4

// fromDisk loads what the cache has, or forgets it.
func (e *Engine) fromDisk(ctx context.Context, m *module) (*machine, error) {
	r, ok := e.kept.find(m.digest)
	if !ok {
		return nil, errNoCode
	}
	folder, wasm, err := e.kept.verify(r)
	if err == nil {
		var code *machine
		if code, err = openMachine(ctx, e.cfg, folder, m.declares.imports, wasm); err == nil {
			code.bytes += r.code.Bytes
			code.stack = r.stack
			return code, nil
		}
	}
	e.kept.forget(r)
	return nil, err
}
