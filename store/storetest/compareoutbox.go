package storetest

import (
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"pgregory.net/rapid"
)

func (p *pair) claimDelivery(rt *rapid.T) {
	c := lease.Claim{
		Token: p.ids.Lease(), Epoch: one(rt, "epoch", []id.Epoch{p.epoch, p.epoch, "epo_before"}),
		Expires: p.l.Clock.Now().Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "seconds")) * time.Second),
	}
	got := p.both(rt, "ClaimDelivery", func(w *world) (any, error) {
		row, is, err := w.Store.ClaimDelivery(w.ctx, "chat", c)
		return found{row, is}, err
	}).(found)
	if got.is {
		p.held = append(p.held, got.row.(outbox.Delivery))
	}
}

// stepDelivery moves one that was claimed, sometimes under the claim of another.
func (p *pair) stepDelivery(rt *rapid.T) {
	d := one(rt, "held", p.held)
	if rapid.IntRange(0, 4).Draw(rt, "foreign claim") == 0 {
		d.Claim = one(rt, "claim of", p.held).Claim
	}
	idempotent, r := rapid.Bool().Draw(rt, "idempotent"), p.l.record(event.DeliveryStarted)
	s := outbox.Settlement{State: one(rt, "state", []outbox.State{outbox.Delivered, outbox.Failed, outbox.Unknown, outbox.Queued, "odd"}), At: p.l.Clock.Now()}
	if s.State != outbox.Delivered {
		s.Reason = "because"
	}
	if s.State == outbox.Queued {
		s.Due = s.At.Add(time.Duration(rapid.IntRange(0, 30).Draw(rt, "later")) * time.Second)
	}
	what := one(rt, "step", []string{"begin", "begin", "settle", "settle", "release"})
	p.both(rt, what, func(w *world) (any, error) {
		switch what {
		case "begin":
			return w.Store.BeginSending(w.ctx, d.ID, d.Claim, idempotent, r)
		case "settle":
			return w.Store.SettleDelivery(w.ctx, d.ID, d.Claim, s, r)
		default:
			return w.Store.ReleaseDelivery(w.ctx, d.ID, d.Claim)
		}
	})
}

func (p *pair) recoverDeliveries(rt *rapid.T) {
	epoch := one(rt, "epoch", []id.Epoch{p.epoch, p.epoch, "epo_next"})
	p.both(rt, "RecoverDeliveries", func(w *world) (any, error) { return w.Store.RecoverDeliveries(w.ctx, epoch, w.Clock.Now()) })
}

type ruling struct {
	delivery outbox.Delivery
	how      outbox.Recording
}

func (p *pair) ruleDelivery(rt *rapid.T) {
	d, by := one(rt, "delivery", append(p.owed, "dlv_unknown")), p.scope(rt)
	r, drop := p.l.record(event.DeliveryRequeued), rapid.IntRange(0, 3).Draw(rt, "drop") == 0
	p.both(rt, "rule on a delivery", func(w *world) (any, error) {
		decide := w.Store.RequeueDelivery
		if drop {
			decide = w.Store.DropDelivery
		}
		got, how, err := decide(w.ctx, by(w), d, "because", r)
		return ruling{got, how}, err
	})
}
