package host

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/policy/capability"
)

// loading is one plugin being compiled, or compiled. Grants are part of what is linked, so that a plugin whose grants
// change is loaded anew; the engine compiles each digest once.
type loading struct {
	ready  chan struct{} // closed when plugin or err is set
	plugin *sandbox.Plugin
	err    error
}

// load makes a plugin's code ready, once for each digest and set of grants. Several calls wait for one compilation.
func (h *Host) load(ctx context.Context, in plugin.Installed, grants capability.Snapshot) (*sandbox.Plugin, error) {
	key := in.Digest + " " + grants.Fingerprint()
	h.mu.Lock()
	l, ok := h.loaded[key]
	if !ok {
		l = &loading{ready: make(chan struct{})}
		h.loaded[key] = l
	}
	h.mu.Unlock()
	if ok {
		select {
		case <-l.ready:
			return l.plugin, l.err
		case <-ctx.Done():
			return nil, fmt.Errorf("host: wait for plugin %s: %w", in.ID, context.Cause(ctx))
		}
	}
	l.plugin, l.err = h.compile(ctx, in, grants)
	if l.err != nil { // a later call may have better luck: memory, disk, another deadline
		h.mu.Lock()
		delete(h.loaded, key)
		h.mu.Unlock()
	}
	close(l.ready)
	return l.plugin, l.err
}

func (h *Host) compile(ctx context.Context, in plugin.Installed, grants capability.Snapshot) (*sandbox.Plugin, error) {
	engine, err := h.engine()
	if err != nil {
		return nil, fmt.Errorf("host: open the sandbox: %w", err)
	}
	opened, err := h.plugins.Open(ctx, in.ID, in.Version, in.Digest)
	if err != nil {
		return nil, err
	}
	h.progress("loading plugin %s@%s", in.ID, in.Version)
	return engine.Load(ctx, sandbox.Source{
		Manifest: opened.Manifest, Wasm: opened.Wasm, Path: filepath.Join(opened.Path, plugin.WasmName),
		Granted: sandbox.AbilitiesFrom(func(need string) bool { return meets(grants, need) }),
	})
}
