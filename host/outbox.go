package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/b3abf3ee/portcullis/host/outbox"
)

// openOutbox settles the deliveries that an earlier host held and starts the worker, if there is a sender.
func (h *Host) openOutbox(ctx context.Context) error {
	h.stopOutbox = func() {}
	lost, err := h.cfg.Store.RecoverDeliveries(ctx, h.epoch, h.cfg.Clock())
	if err != nil {
		return fmt.Errorf("host: recover deliveries of an earlier host: %w", err)
	}
	for _, r := range lost {
		h.cfg.Log.Warn("took a delivery back that an earlier host held", "delivery", r.Delivery, "state", r.State)
	}
	if len(h.cfg.Senders) == 0 {
		return nil
	}
	h.outbox, err = outbox.NewWorker(outbox.Config{
		Queue: h.cfg.Store, Senders: h.cfg.Senders, IDs: h.ids, Epoch: h.epoch, Clock: h.cfg.Clock,
		Random: rand.Float64, Log: h.cfg.Log,
	})
	if err != nil {
		return fmt.Errorf("host: %w", err)
	}
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { h.outbox.Run(work) })
	h.stopOutbox = func() { end(); running.Wait() }
	return nil
}

// owed wakes the lane of a channel that a turn has just queued a delivery for.
func (h *Host) owed(channel string) {
	if h.outbox != nil {
		h.outbox.Wake(channel)
	}
}
