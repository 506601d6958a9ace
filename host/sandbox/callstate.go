package sandbox

import (
	"context"
	enc "encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// callState is what host functions see of one call. It belongs to the goroutine
// that runs the guest.
type callState struct {
	mem      budget
	arena    arena
	instance *instance // the call is in; nil until there is one
	session  *Session
	settings map[string]string
	stderr   tail
	// hasMemory says that the module has a linear memory to copy from and to.
	hasMemory bool

	input       []byte
	inputOff    uint64
	output      []byte
	outputSet   bool
	outputLimit int64
	errorOff    uint64
	errorText   []byte
	fuelLimit   int64      // 0: the deadline alone bounds it
	fuelGiven   int64      // to the guest, used or not
	hostFuel    int64      // paid for what the host did
	hostSince   int64      // of it, since the call was last found not to be over
	fuel        int64      // used, once the call is over
	trap        *trapError // the first rule that this package saw broken
	entered     bool       // guest code may have run

	closing <-chan struct{} // of the engine; abort then ends the call's context
	abort   context.CancelCauseFunc
}

func newCallState(p *Plugin, session *Session, outputLimit int64) *callState {
	st := &callState{
		mem:         budget{limit: uint64(p.spec.limits.Memory), shared: &p.engine.memory},
		session:     session,
		settings:    p.spec.settings,
		hasMemory:   p.binary.hasMemory,
		outputLimit: outputLimit,
		fuelLimit:   p.spec.limits.Fuel,
	}
	st.arena = newArena(&st.mem)
	st.stderr.hides = session.opt.Redactor
	return st
}

// stop ends the guest: the panic unwinds it, and the outcome is read from trap.
func (st *callState) stop(t *trapError) {
	if st.trap == nil {
		st.trap = t
	}
	panic(t)
}

// giveInput makes the input visible. The bytes stay the caller's.
func (st *callState) giveInput(input []byte) bool {
	off, ok := st.arena.put(input, true)
	st.input, st.inputOff = input, off
	return ok
}

// inputAt turns an index into the input into an address, and stops a guest that
// reads past it.
func (st *callState) inputAt(i, n uint64) uint64 {
	if size := uint64(len(st.input)); i > size || n > size-i {
		st.stop(trapped("input_range"))
	}
	return st.inputOff + i
}

func (st *callState) load(addr, n uint64) []byte {
	b, ok := st.arena.view(addr, n)
	if !ok {
		st.stop(trapped("load_range"))
	}
	return b
}

func (st *callState) load64(addr uint64) uint64 { return enc.LittleEndian.Uint64(st.load(addr, 8)) }

func (st *callState) store(addr, n uint64) []byte {
	b, ok := st.arena.edit(addr, n)
	if !ok {
		st.stop(trapped("store_range"))
	}
	return b
}

func (st *callState) store64(addr, v uint64) { enc.LittleEndian.PutUint64(st.store(addr, 8), v) }

// guest is n bytes of the caller's own memory.
func (st *callState) guest(mod api.Module, ptr, n uint32) []byte {
	var b []byte
	var ok bool
	if st.hasMemory {
		b, ok = mod.Memory().Read(ptr, n)
	}
	if !ok {
		st.stop(trapped("memory_range"))
	}
	return b
}

// setOutput remembers the output; the last one counts, as it is when the guest
// returns. A range outside one block stops the guest.
func (st *callState) setOutput(off, n uint64) {
	if n > uint64(st.outputLimit) {
		st.stop(&trapError{status: OutputTooLarge, reason: "output_limit"})
	}
	b, ok := st.arena.edit(off, n) // edit, so that it is never the caller's input
	if !ok {
		st.stop(&trapError{status: BadOutputRange, reason: "output_range"})
	}
	st.output, st.outputSet = b, true
}

// setError remembers the guest's own words for a failure; 0 takes them back.
func (st *callState) setError(off uint64) {
	b, ok := st.arena.whole(off)
	if !ok {
		st.stop(trapped("error_range"))
	}
	st.errorOff, st.errorText = off, b
}

// setting is a block with the value of a non-secret setting, 0 when there is
// none.
func (st *callState) setting(off uint64) uint64 {
	name, ok := st.arena.whole(off)
	if !ok {
		st.stop(trapped("config_range"))
	}
	value, ok := st.settings[string(name)]
	if !ok {
		return 0
	}
	return st.put([]byte(value))
}

// put gives the guest a block that the host filled.
func (st *callState) put(data []byte) uint64 {
	off, ok := st.arena.put(data, false)
	if !ok {
		st.stop(&trapError{status: OutOfMemory, reason: "reply_does_not_fit"})
	}
	return off
}

// logBlock logs a block and frees it, as the Extism kernel does.
func (st *callState) logBlock(level string, off uint64) {
	b, ok := st.arena.whole(off)
	if !ok {
		st.stop(trapped("log_range"))
	}
	st.session.keepLog(level, b, nil)
	st.arena.free(off)
}

// ability answers one portcullis_* call over blocks.
func (st *callState) ability(ctx context.Context, a *ability, off uint64) uint64 {
	in, ok := st.arena.whole(off)
	if !ok {
		st.stop(trapped("argument_range"))
	}
	reply, err := st.session.serve(ctx, a, in)
	if err != nil {
		t, ok := err.(*trapError)
		if !ok {
			t = &trapError{status: HostFailure, reason: "host_call"}
		}
		st.stop(t)
	}
	return st.put(reply)
}
