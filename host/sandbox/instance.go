package sandbox

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// instance is a module in the engine with all that it can change: memory,
// globals and what WASI keeps. One call is in it at a time.
type instance struct {
	mod     api.Module // nil until it could be made
	code    *machine   // that it was made of
	around  surroundings
	memory  allocator
	globals []api.MutableGlobal // as [binary.globals] lists them
	fuel    api.MutableGlobal
	entry   api.Function // the entry point called last, with the engine's stack for it; nil: none
	export  string       // its name

	of      *snapshot // it can be brought back to; nil: never
	since   time.Time // it has been idle
	trimmed bool      // its memory costs nothing
}

// make instantiates the code and runs nothing of it. What it returns must be
// discarded, also with an error. scratch is given to the engine to write data
// segments to, when what they make of memory is not needed; see [linear.scratch].
func (p *Plugin) make(ctx context.Context, code *machine, st *callState, scratch *[]byte) (*instance, error) {
	in := &instance{code: code, around: *p.engine.surroundings(), memory: allocator{mem: &st.mem, scratch: scratch}}
	st.instance = in
	in.around.enter(ctx, &st.stderr, 0)
	mod, err := code.rt.InstantiateModule(
		experimental.WithMemoryAllocator(ctx, &in.memory), code.code, in.around.config())
	if err != nil {
		return in, err
	}
	in.mod = mod
	in.fuel = mod.ExportedGlobal(fuelExport).(api.MutableGlobal)
	mod.ExportedGlobal(stackExport).(api.MutableGlobal).Set(uint64(code.stack))
	if p.binary.plain == "" {
		in.globals = make([]api.MutableGlobal, len(p.binary.globals))
		for i, name := range p.binary.globals {
			in.globals[i] = mod.ExportedGlobal(name).(api.MutableGlobal)
		}
	}
	return in, nil
}

// ready finds the call an instance: one that is kept, one made of the snapshot, or
// one that runs the guest's initialisation, which the first call of a plugin does
// and every call where nothing can be restored.
func (p *Plugin) ready(ctx context.Context, code *machine, st *callState) error {
	in, s := p.pool.take(code)
	if in != nil {
		return in.enter(ctx, st)
	}
	if s != nil {
		if ok, err := p.restored(ctx, code, s, st); ok {
			return err
		}
		p.pool.release(s)
	}
	if err := p.initialise(ctx, code, st); err != nil {
		return err
	}
	if s == nil {
		if s = p.take(st.instance, st); s != nil {
			if p.pool.adopt(s) {
				st.instance.of = s
			} else {
				s.close()
			}
		}
	}
	return nil
}

// initialise makes an instance and runs start function and initializers, under
// the call's deadline and fuel and without its authority. What they used is not
// the call's: a call in a restored instance pays the same.
func (p *Plugin) initialise(ctx context.Context, code *machine, st *callState) error {
	in, err := p.make(ctx, code, st, nil)
	if err != nil {
		return err
	}
	st.session.starting = true
	defer func() { st.session.starting = false }()
	for _, name := range p.binary.startWith() {
		f := in.mod.ExportedFunction(name)
		if _, err := f.Call(ctx, make([]uint64, len(f.Definition().ParamTypes()))...); err != nil {
			return err
		}
	}
	in.fuel.Set(0)
	st.fuelGiven, st.hostFuel = 0, 0
	return nil
}

// surroundings are those of an instance of this engine, before any call.
func (e *Engine) surroundings() *surroundings {
	return &surroundings{clock: e.cfg.Clock, rand: e.cfg.Rand, closing: e.closing}
}

// function is an entry point. The last one is kept: the engine gives each a stack of its own, which would be made anew
// for every call.
func (in *instance) function(export string) api.Function {
	if in.entry == nil || in.export != export {
		in.entry, in.export = in.mod.ExportedFunction(export), export
	}
	return in.entry
}

// leave takes the call out of the instance.
func (in *instance) leave() {
	in.around.leave()
	in.memory.charge(nil)
}

// trim gives back the memory of an instance that is idle and as its snapshot was, and the stack that its calls grew.
func (in *instance) trim() {
	in.entry = nil
	if in.of.image != nil {
		in.of.image.trim(in.memory.linear[0])
	}
}

// discard frees the instance. Nothing of it may run any more.
func (in *instance) discard(ctx context.Context) {
	if in.mod != nil {
		_ = in.mod.Close(context.WithoutCancel(ctx)) // it has no files to fail on
	}
	in.memory.release()
}
