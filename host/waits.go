package host

import (
	"context"
	"sync"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// waits notes at a task that it waits for a person, for as long as a question of its turn, or of a child's, is open.
type waits struct {
	at task.Control

	mu   sync.Mutex // guards open, and is held while it is noted, so that the last word is the right one
	open int
}

// begin notes a question, and the function that it returns that it is answered.
func (w *waits) begin(ctx context.Context) (answered func()) {
	w.add(ctx, 1)
	return func() { w.add(ctx, -1) }
}

func (w *waits) add(ctx context.Context, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.open > 0
	if w.open += n; before != (w.open > 0) {
		w.at.Block(ctx, w.open > 0)
	}
}

// waiting notes at the task, if t is of one, that it waits. It returns what is to be called when it waits no longer.
func (h *Host) waiting(ctx context.Context, t id.Turn) (over func()) {
	if w, ok := h.fires.Load(t); ok {
		return w.(*waits).begin(ctx)
	}
	return func() {}
}

// ofTask runs the turns of children: what a child asks, its parent's task waits for.
type ofTask struct{ h *Host }

// Run is [child.Runner].
func (r ofTask) Run(ctx context.Context, req turn.Request) (turn.Result, error) {
	w, is := r.h.fires.Load(req.Parent.Turn.ID())
	if !is {
		return r.h.turns.Run(ctx, req, turn.Observer{})
	}
	var running id.Turn
	defer func() { r.h.fires.Delete(running) }()
	return r.h.turns.Run(ctx, req, turn.Observer{Started: func(key id.Turn, _ id.Session) {
		running = key
		r.h.fires.Store(key, w)
	}})
}
