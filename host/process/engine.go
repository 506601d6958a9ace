package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Config is what an Engine works with.
type Config struct {
	Keeper Keeper
	Most   int              // programs at once, further ones wait; 0: [DefaultMost]
	Clock  func() time.Time // nil: time.Now
}

// DefaultMost is how many programs an engine runs at once.
const DefaultMost = 16

// Engine runs programs and ends them. It is safe for concurrent use.
type Engine struct {
	keeper Keeper
	clock  func() time.Time
	slots  chan struct{}
	end    chan struct{} // closed by Close

	mu     sync.Mutex // guards what follows
	closed bool
	alive  map[*Child]struct{}
}

// Open returns an engine with nothing running.
func Open(cfg Config) *Engine {
	if cfg.Most <= 0 {
		cfg.Most = DefaultMost
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Engine{
		keeper: cfg.Keeper, clock: cfg.Clock, slots: make(chan struct{}, cfg.Most), end: make(chan struct{}), alive: map[*Child]struct{}{},
	}
}

// Able says why nothing could be started here, or nil: [ErrClosed], [ErrNoKeeper], [ErrUnsupported].
func (e *Engine) Able() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	return able(e.keeper)
}

// Start starts a program that stays until it ends by itself, is stopped, or the engine is closed. ctx bounds the
// waiting for a place alone. A program that did not start is a [*StartError]; nothing of it ran. Whoever starts a child reads its streams to their
// ends and closes its input.
func (e *Engine) Start(ctx context.Context, cmd Command) (*Child, error) {
	select {
	case e.slots <- struct{}{}:
	case <-e.end:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("process: wait for a program to end: %w", context.Cause(ctx))
	}
	if err := ctx.Err(); err != nil {
		<-e.slots
		return nil, fmt.Errorf("process: start a program: %w", context.Cause(ctx))
	}
	c, err := e.start(cmd)
	if err != nil {
		<-e.slots
		return nil, err
	}
	e.mu.Lock()
	closed := e.closed
	e.alive[c] = struct{}{}
	e.mu.Unlock()
	go func() { // ends with the child; Close waits for every child
		<-c.gone
		e.mu.Lock()
		delete(e.alive, c)
		e.mu.Unlock()
		<-e.slots
		close(c.done)
	}()
	if closed {
		c.Kill()
		<-c.Done()
		return nil, ErrClosed
	}
	return c, nil
}

// start checks what can be checked without starting anything.
func (e *Engine) start(cmd Command) (*Child, error) {
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case cmd.Program == nil || cmd.Program.file == nil || cmd.Dir == nil || len(cmd.Argv) == 0:
		return nil, errors.New("process: a command has an open program, a folder and its own name as the first word")
	}
	cmd.Limits = cmd.Limits.filled()
	return e.spawn(cmd)
}

// Close kills everything that runs and waits until it is gone, at most as long as each cleanup may take. The error says
// how many programs could not be confirmed to be gone. It may be called again.
func (e *Engine) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.end)
	}
	var all []*Child
	for c := range e.alive {
		all = append(all, c)
	}
	e.mu.Unlock()
	for _, c := range all {
		c.Kill()
	}
	left := 0
	for _, c := range all {
		<-c.Done()
		if !c.Ended().Clean {
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf("process: %d programs could not be confirmed to be gone", left)
	}
	return nil
}
