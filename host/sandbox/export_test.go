package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// MaxStack is for tests outside of the package.
const MaxStack = maxStack

// CopyCode makes an entry for a module that is like another but for what the
// engine never sees.
func (e *Engine) CopyCode(from, to []byte) error {
	r, ok := e.kept.find(digestOf(from))
	if !ok {
		return errNoCode
	}
	ready, err := prepare(from, nil)
	if err != nil {
		return err
	}
	_, err = e.kept.write(digestOf(to), ready, func(folder string) error {
		name := filepath.Join(folder, r.code.Name)
		if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		code, err := os.ReadFile(filepath.Join(e.kept.dir, r.folder, r.code.Name))
		if err != nil {
			return err
		}
		return os.WriteFile(name, code, 0o600)
	})
	return err
}

// LoadOnly is how long the engine alone takes to load a plugin's compiled code.
func (p *Plugin) LoadOnly(ctx context.Context) (time.Duration, error) {
	r, _ := p.engine.kept.find(p.digest)
	folder, wasm, err := p.engine.kept.verify(r)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	m, err := openMachine(ctx, p.engine.cfg, folder, p.binary.imports, wasm)
	took := time.Since(begun)
	if err != nil {
		return 0, err
	}
	return took, m.close(ctx)
}

// Resident is the memory of this process in bytes; see [resident].
var Resident = resident

// Descriptors is how many files this process has open, Until waits for what must come; see [overdue] for the others.
var (
	Descriptors   = descriptors
	Until         = until
	Overdue       = overdue
	LetIn, CameIn = letIn, cameIn
)

// Held is how many bytes of machine code the engine keeps in memory, and of how many modules it knows.
func (e *Engine) Held() (code int64, modules int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.resident, len(e.modules)
}

// Busy is how many calls hold a slot.
func (e *Engine) Busy() int { return len(e.slots) }
