package task

import (
	"context"
	"fmt"
	"sync"
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
)

// DefaultMost is how many tasks a worker runs at once.
const DefaultMost = 4

// Config is what a Worker works with. All fields but Most are required.
type Config struct {
	Queue   Queue
	Runners map[Kind]Runner
	Most    int // tasks at once; 0: [DefaultMost]
	IDs     *id.Source
	Epoch   id.Epoch
	Clock   func() time.Time
	Log     Log
}

// Worker runs tasks. It is used by one [Worker.Run] at a time.
type Worker struct {
	cfg    Config
	places chan struct{}
	woken  chan struct{}
}

// NewWorker returns a Worker.
func NewWorker(cfg Config) *Worker {
	if cfg.Most <= 0 {
		cfg.Most = DefaultMost
	}
	return &Worker{cfg: cfg, places: make(chan struct{}, cfg.Most), woken: make(chan struct{}, 1)}
}

// Wake makes the worker look at its queue now. It never blocks.
func (w *Worker) Wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// Run works until ctx ends, and returns when nothing of it runs any more: each task under way is told to end and has its
// end written; no further one is begun. A store that fails is waited for and logged; it never makes a task run that was not
// claimed.
func (w *Worker) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { w.watch(ctx) })
	for ctx.Err() == nil {
		select {
		case w.places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		k, found, err := w.claim(ctx)
		if err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("a task could not be claimed", "error", err)
		}
		if err != nil || !found {
			<-w.places
			w.rest(ctx, poll)
			continue
		}
		all.Go(func() {
			defer func() { <-w.places }()
			if err := w.work(ctx, k); err != nil {
				w.cfg.Log.Warn("the end of a task could not be written", "task", k.ID, "error", err)
			}
		})
	}
}

func (w *Worker) claim(ctx context.Context) (Task, bool, error) {
	if ctx.Err() != nil {
		return Task{}, false, nil
	}
	c := lease.Claim{Token: w.cfg.IDs.Lease(), Epoch: w.cfg.Epoch, Expires: w.cfg.Clock().Add(hold)}
	return w.cfg.Queue.ClaimTask(ctx, c, w.record(event.TaskStarted))
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
		rest(ctx, sweep)
	}
}

func (w *Worker) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.woken:
	case <-ctx.Done():
	}
}

// rest waits for d or for the end of ctx.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
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
