package host

import (
	"context"
	"sync"

	"github.com/b3abf3ee/portcullis/host/approval"
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

// waiting notes at the task, if the question's turn is of one, that it waits. It returns what is to be called then.
func (h *Host) waiting(ctx context.Context, q approval.Question) (answered func()) {
	if w, ok := h.fires.Load(q.Turn); ok {
		return w.(*waits).begin(ctx)
	}
	return func() {}
}

// courier is the host's, with a note at the tasks that wait. There is none where nobody waits for an answer.
func (h *Host) courier() approval.Courier {
	if h.cfg.Courier == nil && h.cfg.Wait <= 0 {
		return nil
	}
	return noting{h}
}

// noting is a courier that brings on what it notes.
type noting struct{ h *Host }

// Deliver is [approval.Courier]. Its context ends with the question.
func (n noting) Deliver(ctx context.Context, q approval.Question) error {
	context.AfterFunc(ctx, n.h.waiting(ctx, q))
	if n.h.cfg.Courier == nil {
		return nil
	}
	return n.h.cfg.Courier.Deliver(ctx, q)
}

// prompter is the host's, with the same note; nil where nobody can be asked.
func (h *Host) prompter() approval.Prompter {
	if h.cfg.Prompter == nil {
		return nil
	}
	return prompting{h}
}

type prompting struct{ h *Host }

// Prompt is [approval.Prompter].
func (p prompting) Prompt(ctx context.Context, q approval.Question) (approval.Answer, error) {
	defer p.h.waiting(ctx, q)()
	return p.h.cfg.Prompter.Prompt(ctx, q)
}

// ofTask runs the turns of children: what a child asks, its parent's task waits for.
type ofTask struct{ h *Host }

// Run is [turn.Execution.Run].
func (r ofTask) Run(ctx context.Context, req turn.Request, obs turn.Observer) (turn.Result, error) {
	w, is := r.h.fires.Load(req.Parent.Turn.ID())
	if !is {
		return r.h.turns.Run(ctx, req, obs)
	}
	var running id.Turn
	defer func() { r.h.fires.Delete(running) }()
	obs.Started = func(key id.Turn, _ id.Session) {
		running = key
		r.h.fires.Store(key, w)
	}
	return r.h.turns.Run(ctx, req, obs)
}
