package crash

import (
	"context"
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// firstOutbox is the first schema in which a turn owes its reply; what ended before owes nothing.
const firstOutbox = 6

func (w *world) take(ctx context.Context) (outbox.Delivery, error) {
	c := lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: time.Now().Add(time.Minute)}
	d, found, err := w.store.ClaimDelivery(ctx, person().Channel, c)
	if err == nil && !found {
		err = fmt.Errorf("nothing to deliver")
	}
	return d, err
}

// wrote makes an error of a step that was not taken.
func wrote(how outbox.Fenced, err error) error {
	if err == nil && how != outbox.Written {
		err = fmt.Errorf("the store answered %q", how)
	}
	return err
}

// send is one attempt: it happens in the book.
func (w *world) send(ctx context.Context, d outbox.Delivery, s outbox.Settlement) error {
	if err := wrote(w.store.BeginSending(ctx, d.ID, d.Claim, false, w.record(event.DeliveryStarted))); err != nil {
		return err
	}
	w.tell("sent", d.ID)
	s.At = time.Now()
	if err := wrote(w.store.SettleDelivery(ctx, d.ID, d.Claim, s, w.record(event.DeliverySettled))); err != nil {
		return err
	}
	w.tell("settled", d.ID, s.State)
	return nil
}

// deliver brings the first turn's reply out, after it was claimed once for nothing.
func (w *world) deliver(ctx context.Context) error {
	d, err := w.take(ctx)
	if err != nil {
		return err
	}
	if err := wrote(w.store.ReleaseDelivery(ctx, d.ID, d.Claim)); err != nil {
		return err
	}
	if d, err = w.take(ctx); err != nil {
		return err
	}
	return w.send(ctx, d, outbox.Settlement{State: outbox.Delivered})
}

// giveUp fails with the second turn's reply; the operator tries it once more and then drops it.
func (w *world) giveUp(ctx context.Context, by principal.Scope) error {
	d, err := w.take(ctx)
	if err != nil {
		return err
	}
	if err := w.send(ctx, d, outbox.Settlement{State: outbox.Failed, Reason: "refused"}); err != nil {
		return err
	}
	if _, how, err := w.store.RequeueDelivery(ctx, by, d.ID, "crash test", w.record(event.DeliveryRequeued)); err != nil || how != outbox.Recorded {
		return fmt.Errorf("queue again: %q, %w", how, err)
	}
	w.tell("settled", d.ID, outbox.Queued)
	if _, how, err := w.store.DropDelivery(ctx, by, d.ID, "crash test", w.record(event.DeliveryDropped)); err != nil || how != outbox.Recorded {
		return fmt.Errorf("drop: %q, %w", how, err)
	}
	w.tell("settled", d.ID, outbox.Dropped)
	return nil
}

// delivered holds that a turn which ended with a reply owes it exactly once and no other turn owes anything, that
// nothing left before it was written that it would, and that what may have left is not queued for another attempt.
func (w *world) delivered(before, after state, b *book, fault func(string, ...any)) {
	for _, st := range []state{before, after} {
		for key, is := range st.turns {
			n, want := 0, 0
			for _, d := range st.owed {
				if d.Turn != key {
					continue
				}
				if n++; d.Body != is.Reply {
					fault("delivery %s is of turn %s and says %q, not %q", d.ID, key, d.Body, is.Reply)
				}
			}
			if is.Reply != "" && (b.old == 0 || b.old >= firstOutbox) {
				want = 1
			}
			if n != want {
				fault("turn %s is %s with the reply %q and has %d deliveries", key, is.State, is.Reply, n)
			}
		}
		for key, d := range st.owed {
			if _, ok := st.turns[d.Turn]; !ok {
				fault("delivery %s is of no turn", key)
			}
		}
	}
	for key, times := range b.sent {
		was, now := before.owed[key], after.owed[key]
		if was.Attempts != times && !(was.Attempts == 0 && (was.State == outbox.Queued || was.State == outbox.Dropped)) { // the operator counts anew
			fault("delivery %s left %d times and %d attempts are on record", key, times, was.Attempts)
		}
		if now.State == outbox.Queued && was.State != outbox.Queued || now.State.Held() {
			fault("delivery %s had left, was %s and is %s", key, was.State, now.State)
		}
		if was.State == outbox.Sending && now.State != outbox.Unknown {
			fault("delivery %s had left, nobody knows what became of it, and it is %s", key, now.State)
		}
	}
	for key, state := range b.settled {
		is := before.owed[key].State
		// What the operator decided afterwards may have become durable before it was told.
		if later := state == outbox.Failed && (is == outbox.Queued || is == outbox.Dropped) || state == outbox.Queued && is == outbox.Dropped; is != state && !later {
			fault("lost: delivery %s was settled as %s and is %s", key, state, is)
		}
	}
}
