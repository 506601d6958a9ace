package sandbox

import (
	"context"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// snapshot is what initialisation left of one plugin: all that an instance can
// change, and what the host holds for it. It is never changed. It has seen no
// input, no authority and nothing of any call but its clock and randomness.
type snapshot struct {
	image   *image // of linear memory, nil where the module has none
	globals []uint64

	mem      budget
	blocks   []block // of the arena, borrowed
	next     uint64
	stderr   []byte
	stats    Stats
	logs     []wire.LogRecord
	logBytes int64
	elapsed  time.Duration // of the guest's own clock

	users int // guarded by its pool
}

// take copies the state of an instance that was just initialised, or returns nil
// where a copy would not do: modules that [binary.plain] speaks of, a guest that
// has answered before it was asked, a machine that is short of memory.
func (p *Plugin) take(in *instance, st *callState) *snapshot {
	if p.binary.plain != "" || st.outputSet || st.errorOff != 0 || len(in.memory.linear) > 1 {
		return nil
	}
	s := &snapshot{
		globals:  make([]uint64, len(in.globals)),
		mem:      st.mem,
		next:     st.arena.next,
		stderr:   slices.Clone(st.stderr.text()),
		stats:    st.session.stats,
		logs:     slices.Clone(st.session.logs),
		logBytes: st.session.logBytes,
		elapsed:  in.around.elapsed(),
	}
	for _, b := range st.arena.blocks {
		s.blocks = append(s.blocks, block{b.off, slices.Clone(b.data), true})
	}
	for i, g := range in.globals {
		s.globals[i] = g.Get()
	}
	if len(in.memory.linear) == 1 {
		var ok bool
		if s.image, ok = newImage(in.memory.linear[0].bytes(), p.engine.pages); !ok {
			return nil
		}
	}
	return s
}

// give puts what initialisation left into the state of a call that did not run
// it. False says that there is no memory for one more call.
func (s *snapshot) give(st *callState) bool {
	room := st.mem.become(s.mem)
	st.arena.blocks, st.arena.next = slices.Clone(s.blocks), s.next
	st.stderr.kept = slices.Clone(s.stderr)
	st.session.stats = s.stats
	st.session.logs, st.session.logBytes = slices.Clone(s.logs), s.logBytes
	return room
}

// restored makes an instance out of the snapshot without running anything. When
// it could not, the call is as it was before.
func (p *Plugin) restored(ctx context.Context, code *machine, s *snapshot, st *callState) (bool, error) {
	scratch := p.engine.scratch.Get().(*[]byte)
	defer p.engine.scratch.Put(scratch) // the engine holds it no more: reset, or the instance is discarded unused
	in, err := p.make(ctx, code, st, scratch)
	in.of = s
	if err != nil || !in.reset() {
		in.discard(ctx)
		st.mem.settle()
		st.instance, st.mem = nil, budget{limit: st.mem.limit, shared: st.mem.shared}
		return false, nil
	}
	return true, in.enter(ctx, st)
}

// enter begins a call in an instance that is as its snapshot was. The error says
// that all calls together have no room for it; the instance is in use all the
// same.
func (in *instance) enter(ctx context.Context, st *callState) error {
	st.instance = in
	room := in.of.give(st)
	in.around.enter(ctx, &st.stderr, in.of.elapsed)
	in.memory.charge(&st.mem)
	if !room {
		return &trapError{status: OutOfMemory, reason: "total_memory"}
	}
	return nil
}

// reset brings everything that the guest can change back to the snapshot, and
// says whether it could.
func (in *instance) reset() bool {
	s := in.of
	if s.image != nil {
		l := in.memory.linear[0]
		if (l.size != s.image.size || l.scratch != nil) && !in.resize(s.image.size) {
			return false
		}
		if !s.image.restore(l) {
			return false
		}
	}
	for i, g := range in.globals {
		g.Set(s.globals[i])
	}
	in.fuel.Set(0)
	return true
}

// resize gives the engine another length of the same memory. The engine knows
// growing only, so it is asked for one page more and handed what it shall have;
// that it took it is looked at, since a memory at its maximum cannot be asked.
func (in *instance) resize(size uint64) bool {
	l := in.memory.linear[0]
	if !l.fits(size) {
		return false
	}
	l.forced = size
	_, ok := in.mod.Memory().Grow(1)
	l.forced = 0
	return ok && uint64(in.mod.Memory().Size()) == size
}

// close frees what the snapshot holds outside of Go's memory. Instances that
// were made of it keep what they need.
func (s *snapshot) close() {
	if s.image != nil {
		s.image.close()
	}
}
