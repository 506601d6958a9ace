package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// newDeliveries refuses ids that are taken, and any conversation but that of the session's owner.
func (s *Store) newDeliveries(end turn.Terminal) error {
	seen := map[id.Delivery]bool{}
	for _, d := range end.Deliveries {
		if s.deliveries[d.ID] != nil || seen[d.ID] {
			return fmt.Errorf("the delivery id %s is taken", d.ID)
		}
		seen[d.ID] = true
		if o := s.sessions[end.Session].owner; o == nil || o.Channel != d.Channel || o.ConversationKey != d.Conversation {
			return fmt.Errorf("delivery %s is not for the conversation of its session", d.ID)
		}
	}
	return nil
}

func (s *Store) keepDeliveries(end turn.Terminal) {
	for _, one := range end.Deliveries {
		d := rule.Queued(one, end)
		s.deliveries[d.ID] = &d
		s.outgoing = append(s.outgoing, &d)
	}
}

// ClaimDelivery takes the delivery that has been due longest; see [outbox.Queue].
func (s *Store) ClaimDelivery(ctx context.Context, channel string, c lease.Claim) (outbox.Delivery, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	if err := rule.ClaimOf(channel, c, now); err != nil {
		return outbox.Delivery{}, false, fmt.Errorf("memory: claim a delivery of %s: %w", channel, err)
	}
	var first *outbox.Delivery
	for i, d := range s.outgoing {
		if d.Channel == channel && d.State == outbox.Queued && d.Due.UnixMilli() <= now.UnixMilli() && !s.waits(i) &&
			(first == nil || d.Due.Before(first.Due)) {
			first = d
		}
	}
	if first == nil {
		return outbox.Delivery{}, false, nil
	}
	fence := first.Claim.Fence + 1
	first.Claim = lease.Claim{Token: c.Token, Epoch: c.Epoch, Fence: fence, Expires: rule.Millis(c.Expires)}
	first.State, first.Due, first.Changed = outbox.Claimed, time.Time{}, rule.Millis(now)
	return *first, true, nil
}

// waits reports whether the conversation of the delivery at place i has something earlier open, or on its way.
func (s *Store) waits(i int) bool {
	d := s.outgoing[i]
	for j, e := range s.outgoing {
		if e.Channel == d.Channel && e.Conversation == d.Conversation && (j < i && e.State.Open() || e.State.Held()) {
			return true
		}
	}
	return false
}

// holds is the delivery that c holds now, or nil.
func (s *Store) holds(key id.Delivery, c lease.Claim) *outbox.Delivery {
	d := s.deliveries[key]
	if d == nil || !d.State.Held() || !d.Claim.Same(c) || d.Claim.Expired(rule.Millis(s.clock())) {
		return nil
	}
	return d
}

// letGo ends the claim of d, whose fence stays.
func letGo(d *outbox.Delivery, to outbox.State, at time.Time) {
	d.State, d.Claim, d.Changed = to, lease.Claim{Fence: d.Claim.Fence}, rule.Millis(at)
}

// BeginSending counts an attempt before anything leaves; see [outbox.Queue].
func (s *Store) BeginSending(ctx context.Context, key id.Delivery, c lease.Claim, idempotent bool, r event.Record) (outbox.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := rule.Audit(r); err != nil {
		return "", fmt.Errorf("memory: begin to send %s: %w", key, err)
	}
	d := s.holds(key, c)
	if d == nil || d.State != outbox.Claimed {
		return outbox.Stale, nil
	}
	if err := s.fresh(r); err != nil {
		return "", fmt.Errorf("memory: begin to send %s: %w", key, err)
	}
	d.State, d.Idempotent, d.Reason, d.Changed = outbox.Sending, idempotent, "", rule.Millis(r.At)
	d.Attempts++
	s.audit(rule.OfDelivery(r, *d))
	return outbox.Written, nil
}

// SettleDelivery ends an attempt and its claim; see [outbox.Queue].
func (s *Store) SettleDelivery(ctx context.Context, key id.Delivery, c lease.Claim, end outbox.Settlement, r event.Record) (outbox.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := rule.Settlement(end, r); err != nil {
		return "", fmt.Errorf("memory: settle %s: %w", key, err)
	}
	d := s.holds(key, c)
	if d == nil || d.State == outbox.Claimed && end.State != outbox.Failed {
		return outbox.Stale, nil
	}
	if err := s.fresh(r); err != nil {
		return "", fmt.Errorf("memory: settle %s: %w", key, err)
	}
	letGo(d, end.State, end.At)
	d.Reason = end.Reason
	if end.State == outbox.Queued {
		d.Due = rule.Millis(end.Due)
	}
	s.audit(rule.OfDelivery(r, *d))
	return outbox.Written, nil
}

// ReleaseDelivery gives back what was claimed and not sent; see [outbox.Queue].
func (s *Store) ReleaseDelivery(ctx context.Context, key id.Delivery, c lease.Claim) (outbox.Fenced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.holds(key, c)
	if d == nil || d.State != outbox.Claimed {
		return outbox.Stale, nil
	}
	letGo(d, outbox.Queued, s.clock())
	d.Due = d.Changed
	return outbox.Written, nil
}

// RecoverDeliveries takes what is held from holders that are gone; see [outbox.Queue].
func (s *Store) RecoverDeliveries(ctx context.Context, epoch id.Epoch, now time.Time) ([]outbox.Recovered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost []*outbox.Delivery
	for _, d := range s.outgoing {
		if d.State.Held() && (d.Claim.Epoch != epoch || d.Claim.Expired(rule.Millis(now))) {
			lost = append(lost, d)
		}
	}
	slices.SortFunc(lost, func(a, b *outbox.Delivery) int { return cmp.Compare(a.ID, b.ID) })
	var done []outbox.Recovered
	for _, d := range lost {
		to, why := rule.Abandoned(*d), rule.ReasonAbandoned(*d, epoch)
		letGo(d, to, now)
		if d.Reason = why; to == outbox.Queued {
			d.Due = rule.Millis(now)
		}
		s.audit(rule.OfDelivery(event.Record{ID: s.ids.Event(), At: now, Kind: event.DeliveryRecovered}, *d))
		done = append(done, outbox.Recovered{Delivery: d.ID, State: d.State})
	}
	return done, nil
}

// WaitingChannels are channels with queued deliveries; see [outbox.Queue].
func (s *Store) WaitingChannels(ctx context.Context, limit int) ([]string, error) {
	if err := rule.Limit(limit, rule.MaxPage); err != nil {
		return nil, fmt.Errorf("memory: list waiting channels: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, d := range s.outgoing {
		if d.State == outbox.Queued {
			out = append(out, d.Channel)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(limit, len(out))], nil
}
