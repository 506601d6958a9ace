package task

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
)

// The times of a worker.
const (
	poll  = time.Second      // between two looks at an empty queue
	sweep = 30 * time.Second // between two looks for claims that are over
	hold  = time.Minute      // a claim, from one beat on
	// BeatTime is how often a running task's claim is moved on, and so how soon it heeds a request to end.
	BeatTime = 2 * time.Second
	// grace is what writing down the end of a task may take.
	grace = 10 * time.Second
	// cleanup is what a runner may take when it was told to end: longer than a turn or a program takes for that.
	cleanup = 40 * time.Second
)

// DefaultMost is how many tasks of one kind a worker runs at once.
const DefaultMost = 4

// Config is what a Worker works with. All fields but Most and Only are required.
type Config struct {
	Queue   Queue
	Runners map[Kind]Runner // a kind that has none is left to another worker
	Most    int             // tasks of each kind at once; 0: [DefaultMost]
	Only    id.Task         // the one task that is run; empty: any
	IDs     *id.Source
	Epoch   id.Epoch
	Clock   func() time.Time
	Log     Log
}

// Worker runs tasks. Each kind has places of its own, so that long programs hold up no schedule. It is used by one
// [Worker.Run] at a time.
type Worker struct {
	cfg   Config
	woken map[Kind]chan struct{}

	hanging map[Kind]*atomic.Int32 // runners that go on after they were given up
}

// NewWorker returns a Worker.
func NewWorker(cfg Config) *Worker {
	if cfg.Most <= 0 {
		cfg.Most = DefaultMost
	}
	w := &Worker{cfg: cfg, woken: map[Kind]chan struct{}{}, hanging: map[Kind]*atomic.Int32{}}
	for kind := range cfg.Runners {
		w.hanging[kind] = new(atomic.Int32)
		w.woken[kind] = make(chan struct{}, 1)
	}
	return w
}

// Wake makes the worker look at its queue now. It never blocks.
func (w *Worker) Wake() {
	for _, woken := range w.woken {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}

// Run works until ctx ends, and returns when nothing of it runs any more: each task under way is told to end and has its
// end written; no further one is begun. A runner that goes on all the same is given up: its task is lost when its claim is over,
// or by the next host, and its goroutine ends when it does. A store that fails is waited for and logged; it never makes a task run that was not
// claimed.
func (w *Worker) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { w.watch(ctx) })
	for kind := range w.cfg.Runners {
		all.Go(func() { w.serve(ctx, kind) })
	}
}

// serve runs the tasks of one kind.
func (w *Worker) serve(ctx context.Context, kind Kind) {
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, w.cfg.Most)
	for ctx.Err() == nil {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if int(w.hanging[kind].Load()) >= w.cfg.Most { // as many more would run beside those that are to be
			<-places
			rest(ctx, poll, nil)
			continue
		}
		k, found, err := w.claim(ctx, kind)
		if err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("a task could not be claimed", "error", err)
		}
		if err != nil || !found {
			<-places
			rest(ctx, poll, w.woken[kind])
			continue
		}
		all.Go(func() {
			defer func() { <-places }()
			if err := w.work(ctx, k); err != nil {
				w.cfg.Log.Warn("the end of a task could not be written", "task", k.ID, "error", err)
			}
		})
	}
}

func (w *Worker) claim(ctx context.Context, kind Kind) (Task, bool, error) {
	if ctx.Err() != nil {
		return Task{}, false, nil
	}
	c := lease.Claim{Token: w.cfg.IDs.Lease(), Epoch: w.cfg.Epoch, Expires: w.cfg.Clock().Add(hold)}
	return w.cfg.Queue.ClaimTask(ctx, Which{kind, w.cfg.Only}, c, w.record(event.TaskStarted))
}

// watch makes lost what holders had that are gone, other processes' and this one's.
func (w *Worker) watch(ctx context.Context) {
	for ctx.Err() == nil {
		lost, err := w.cfg.Queue.RecoverTasks(ctx, w.cfg.Epoch, w.cfg.Clock())
		if err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("tasks could not be looked through", "error", err)
		}
		for _, r := range lost {
			w.cfg.Log.Warn("a task is lost: its claim was over", "task", r.Task, "kind", r.Kind)
		}
		rest(ctx, sweep, nil)
	}
}

// rest waits for d, for a word of woken, or for the end of ctx.
func rest(ctx context.Context, d time.Duration, woken <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-woken:
	case <-ctx.Done():
	}
}

func (w *Worker) record(k event.Kind) event.Record {
	return event.Record{ID: w.cfg.IDs.Event(), At: w.cfg.Clock(), Kind: k}
}

// stood makes an error of a claim that was lost: the task is whatever recovery has made of it.
func stood(how Fenced, err error) error {
	if err == nil && how != Written {
		err = fmt.Errorf("task: the claim was lost (%s)", how)
	}
	return err
}
