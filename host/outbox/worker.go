package outbox

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
)

// The times of a worker.
const (
	poll     = time.Second      // between two looks at an empty queue that nobody wakes a lane for
	sweep    = time.Minute      // between two looks for claims that are over and channels that nobody serves
	sendTime = 30 * time.Second // one attempt
	grace    = 5 * time.Second  // what an attempt under way, one whose time is over, and writing down what became of it may take after that
	hold     = sendTime + grace + 30*time.Second
	// maxHanging bounds how many attempts of one sender may go on after they were given up: then it is asked nothing more until
	// one of them ends.
	maxHanging = 4
	// maxChannels bounds how many unserved channels are looked at.
	maxChannels = 100
)

// Config is what a Worker works with. All fields are required.
type Config struct {
	Queue   Queue
	Senders []Sender // one for each channel instance
	IDs     *id.Source
	Epoch   id.Epoch
	Clock   func() time.Time
	Random  func() float64 // in [0, 1)
	Log     Log
}

// Worker brings deliveries out. It is used by one [Worker.Run] at a time; [Worker.Wake] is safe beside it.
type Worker struct {
	cfg   Config
	bells map[string]chan struct{} // of each channel that is served; room for one ring
}

// NewWorker returns a Worker. Two senders for one channel instance, or one without a name, are an error.
func NewWorker(cfg Config) (*Worker, error) {
	w := &Worker{cfg: cfg, bells: map[string]chan struct{}{}}
	for _, s := range cfg.Senders {
		name := s.Channel()
		if name == "" || w.bells[name] != nil {
			return nil, fmt.Errorf("outbox: the channel instance %q has no name or two senders: name each once", name)
		}
		w.bells[name] = make(chan struct{}, 1)
	}
	return w, nil
}

// Wake lets channel's lane look now for what is due. Who has just queued something in this process calls it; what another
// process queues is found by the next look, within a second. It never blocks, a wake-up is not lost while the lane is at
// work, and waking a channel that nobody serves does nothing.
func (w *Worker) Wake(channel string) {
	select {
	case w.bells[channel] <- struct{}{}:
	default: // it is awake, or nobody serves it
	}
}

// Run works until ctx ends, one lane for each channel, and returns when every lane is done: an attempt under way gets a
// few seconds more and is settled, what was only claimed is given back. A sender that heeds no context is given up, its delivery
// settled as one of which nobody knows; its goroutine ends when it does, and outlives Run if need be. A store that fails is waited for and logged; it
// never makes a lane send without having written that it does.
func (w *Worker) Run(ctx context.Context) {
	var lanes sync.WaitGroup
	for _, s := range w.cfg.Senders {
		lanes.Go(func() { w.lane(ctx, s) })
	}
	lanes.Go(func() { w.watch(ctx) })
	lanes.Wait()
}

// lane sends what is due on one channel, one after the other.
func (w *Worker) lane(ctx context.Context, s Sender) {
	var out atomic.Int32
	told := false
	for ctx.Err() == nil {
		if out.Load() >= maxHanging {
			if !told {
				w.cfg.Log.Warn("a channel takes nothing: its sender does not come back from earlier attempts", "channel", s.Channel())
			}
			told = true
			rest(ctx, poll, nil)
			continue
		}
		told = false
		did, err := w.next(ctx, s, &out)
		if err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("a delivery could not be worked on", "channel", s.Channel(), "error", err)
		}
		if err != nil || !did {
			rest(ctx, poll, w.bells[s.Channel()])
		}
	}
}

// watch takes back what a lost holder has, and says which channels nobody serves, each once.
func (w *Worker) watch(ctx context.Context) {
	told := map[string]bool{}
	for ctx.Err() == nil {
		if err := w.look(ctx, told); err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("the outbox could not be looked through", "error", err)
		}
		rest(ctx, sweep, nil)
	}
}

func (w *Worker) look(ctx context.Context, told map[string]bool) error {
	lost, err := w.cfg.Queue.RecoverDeliveries(ctx, w.cfg.Epoch, w.cfg.Clock())
	if err != nil {
		return err
	}
	for _, r := range lost {
		w.cfg.Log.Warn("took a delivery back whose claim is over", "delivery", r.Delivery, "state", r.State)
	}
	waiting, err := w.cfg.Queue.WaitingChannels(ctx, maxChannels)
	for _, name := range waiting {
		if w.bells[name] == nil && !told[name] {
			told[name] = true
			w.cfg.Log.Warn("deliveries wait for a channel that nobody serves", "channel", name)
		}
	}
	return err
}

// rest waits for d, for the end of ctx, or for a ring of bell, if there is one.
func rest(ctx context.Context, d time.Duration, bell <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-bell:
	case <-ctx.Done():
	}
}
