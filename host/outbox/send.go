package outbox

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/lease"
)

// next claims one delivery of the sender's channel and sees it through; false when none is due. out counts attempts that have
// not come back.
func (w *Worker) next(ctx context.Context, s Sender, out *atomic.Int32) (bool, error) {
	claim := lease.Claim{Token: w.cfg.IDs.Lease(), Epoch: w.cfg.Epoch, Expires: w.cfg.Clock().Add(hold)}
	d, found, err := w.cfg.Queue.ClaimDelivery(ctx, s.Channel(), claim)
	if err != nil || !found {
		return false, err
	}
	// From here on what is claimed is also let go of, whatever becomes of ctx.
	write := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		return true, stood(w.cfg.Queue.ReleaseDelivery(write, d.ID, d.Claim))
	}
	if d.Attempts >= maxAttempts { // a host that died in each attempt
		return true, w.settle(write, d, Settlement{State: Failed, Reason: ReasonAttempts})
	}
	how, err := w.cfg.Queue.BeginSending(write, d.ID, d.Claim, s.Idempotent(), w.record(event.DeliveryStarted))
	if err != nil || how != Written {
		return true, stood(how, err) // nothing has left; the claim runs out
	}
	before := d
	d.Attempts++
	if before.Attempts > 0 && before.Idempotent && !s.Idempotent() {
		// It was sent over a channel that tells a second copy from a first, and may have arrived: this one does not tell.
		return true, w.settle(write, d, Settlement{State: Unknown, Reason: ReasonSenderChanged})
	}
	r := attempt(ctx, s, d, out)
	return true, w.settle(write, d, w.judge(s, d, r))
}

// attempt asks the sender once, in bounded time. One that goes on when that is over is given up: nobody knows what became of the
// delivery then, and what it says later is heard by nobody.
func attempt(ctx context.Context, s Sender, d Delivery, out *atomic.Int32) Receipt {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { // a shutdown leaves it a little more time
		rest(bounded, grace, nil)
		cancel()
	})
	defer stop()
	said := make(chan Receipt, 1)
	out.Add(1)
	go func() { // ends with the sender
		defer out.Add(-1)
		said <- send(bounded, s, d)
	}()
	select {
	case r := <-said:
		return r
	case <-bounded.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case r := <-said:
		return r
	case <-patience.C:
		return Receipt{Verdict: Unsure, Reason: ReasonSenderHangs}
	}
}

func send(ctx context.Context, s Sender, d Delivery) (r Receipt) {
	defer func() {
		if v := recover(); v != nil {
			r = Receipt{Verdict: Unsure, Reason: ReasonSenderFault}
		}
	}()
	return s.Send(ctx, d.ID, d)
}

// judge turns a receipt into what is written.
func (w *Worker) judge(s Sender, d Delivery, r Receipt) Settlement {
	switch {
	case r.Verdict == Accepted:
		return Settlement{State: Delivered}
	case r.Verdict == Permanent:
		return Settlement{State: Failed, Reason: code(r.Reason, ReasonRefused)}
	case r.Verdict == Retry && d.Attempts >= maxAttempts:
		return Settlement{State: Failed, Reason: ReasonAttempts}
	case r.Verdict == Retry:
		return w.again(d, r.After, code(r.Reason, ReasonNotTaken))
	case s.Idempotent() && d.Attempts < maxAttempts: // the channel tells a second copy from a first
		return w.again(d, 0, code(r.Reason, ReasonNoAnswer))
	}
	return Settlement{State: Unknown, Reason: code(r.Reason, ReasonNoAnswer)}
}

func (w *Worker) again(d Delivery, after time.Duration, reason string) Settlement {
	return Settlement{State: Queued, Reason: reason, Due: w.cfg.Clock().Add(pause(d.Attempts, after, w.cfg.Random()))}
}

// code is a sender's reason as it is kept.
func code(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return strings.ToValidUTF8(reason[:min(len(reason), 64)], "")
}

func (w *Worker) settle(ctx context.Context, d Delivery, s Settlement) error {
	ctx, stop := context.WithTimeout(ctx, grace)
	defer stop()
	s.At = w.cfg.Clock()
	return stood(w.cfg.Queue.SettleDelivery(ctx, d.ID, d.Claim, s, w.record(event.DeliverySettled)))
}

// stood makes an error of a claim that was lost: what it covered is whoever recovered it has made of it.
func stood(how Fenced, err error) error {
	if err == nil && how != Written {
		err = fmt.Errorf("outbox: the claim was lost (%s)", how)
	}
	return err
}

func (w *Worker) record(k event.Kind) event.Record {
	return event.Record{ID: w.cfg.IDs.Event(), At: w.cfg.Clock(), Kind: k}
}
