package sandbox

import (
	"context"
	"io"
	"time"

	"github.com/tetratelabs/wazero"
)

// surroundings are the WASI that an instance sees: the host's clock and
// randomness, a stderr that keeps its end, a sleep that ends with the call, and
// nothing else. An instance keeps them for life and they answer for the call
// that it is in: whoever runs it calls enter before and leave after.
type surroundings struct {
	clock   func() time.Time
	rand    io.Reader
	closing <-chan struct{} // of the engine

	ctx    context.Context // of the call, nil between calls
	stderr io.Writer       // of the call, nil between calls
	begun  time.Time       // when the call was
	before time.Duration   // that had passed by then, as the guest knows it
}

// enter begins a call. before is the time that the guest has seen pass.
func (s *surroundings) enter(ctx context.Context, stderr io.Writer, before time.Duration) {
	s.ctx, s.stderr, s.begun, s.before = ctx, stderr, time.Now(), before
}

// leave ends it: nothing of the call can be reached from the instance.
func (s *surroundings) leave() { s.ctx, s.stderr = nil, nil }

// elapsed is the time that the guest has seen pass. It is real whatever the wall
// clock shows, since a guest's own timers must fire under a clock that stands
// still, and it never goes back from what a snapshot remembers.
func (s *surroundings) elapsed() time.Duration { return s.before + time.Since(s.begun) }

// Write is stderr.
func (s *surroundings) Write(p []byte) (int, error) { return s.stderr.Write(p) }

// Read is the source of randomness: at most 64 KiB at once, and none when the
// call is over, so that filling a large memory with it ends.
func (s *surroundings) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.rand.Read(p[:min(len(p), 64<<10)])
}

// config is how an instance is told of its surroundings.
func (s *surroundings) config() wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStderr(s).
		WithRandSource(s).
		WithWalltime(func() (int64, int32) {
			now := s.clock()
			return now.Unix(), int32(now.Nanosecond())
		}, 1).
		WithNanotime(func() int64 { return 1 + int64(s.elapsed()) }, 1).
		WithNanosleep(func(ns int64) { s.sleep(time.Duration(ns)) }).
		WithOsyield(func() {})
}

// sleep ends with the call, and when the engine closes. It needs no clock of its
// own: the deadline bounds it.
func (s *surroundings) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	case <-s.closing:
	}
}
