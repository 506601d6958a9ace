package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Delivery reads one delivery that by reaches; see [outbox.Records].
func (s *Store) Delivery(ctx context.Context, by principal.Scope, key id.Delivery) (outbox.Delivery, bool, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return outbox.Delivery{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.seenDelivery(by, key)
	if d == nil {
		return outbox.Delivery{}, false, nil
	}
	return *d, true, nil
}

// seenDelivery finds a delivery that by reaches; else the lookup is denied and audited.
func (s *Store) seenDelivery(by principal.Scope, key id.Delivery) *outbox.Delivery {
	d := s.deliveries[key]
	if d != nil && s.reached(by, d.Session) {
		return d
	}
	var home id.Session
	if d != nil {
		home = d.Session
	}
	s.deny(by, rule.Lookup{What: rule.LookupDelivery, ID: string(key)}, home, d != nil)
	return nil
}

// Deliveries lists those that by reaches, newest first; see [outbox.Records].
func (s *Store) Deliveries(ctx context.Context, by principal.Scope, state outbox.State, skip, limit int) ([]outbox.Delivery, error) {
	if err := rule.Accept(by, s.id); err != nil {
		return nil, err
	}
	if err := rule.Page(skip, limit, rule.MaxPage); err != nil {
		return nil, fmt.Errorf("memory: list deliveries: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []outbox.Delivery
	for _, d := range slices.Backward(s.outgoing) {
		if s.reached(by, d.Session) && (state == "" || d.State == state) {
			out = append(out, *d)
		}
	}
	slices.SortStableFunc(out, func(a, b outbox.Delivery) int { return b.Created.Compare(a.Created) })
	return rule.Cut(out, skip, limit), nil
}

// RequeueDelivery queues a failed or unknown delivery anew; see [outbox.Records].
func (s *Store) RequeueDelivery(ctx context.Context, by principal.Scope, key id.Delivery, why string, r event.Record) (outbox.Delivery, outbox.Recording, error) {
	return s.rules(by, key, why, r, rule.Requeueable, func(d *outbox.Delivery) {
		letGo(d, outbox.Queued, r.At)
		d.Attempts, d.Due = 0, rule.Millis(r.At)
	})
}

// DropDelivery gives a delivery up; see [outbox.Records].
func (s *Store) DropDelivery(ctx context.Context, by principal.Scope, key id.Delivery, why string, r event.Record) (outbox.Delivery, outbox.Recording, error) {
	return s.rules(by, key, why, r, rule.Droppable, func(d *outbox.Delivery) {
		letGo(d, outbox.Dropped, r.At)
		d.Due = time.Time{}
	})
}

// rules takes one step that the operator decided on, if the delivery stands where it leads from.
func (s *Store) rules(by principal.Scope, key id.Delivery, why string, r event.Record, from func(outbox.State) bool, step func(*outbox.Delivery)) (outbox.Delivery, outbox.Recording, error) {
	if err := rule.AcceptOperator(by, s.id); err != nil {
		return outbox.Delivery{}, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(rule.Words(why), rule.Audit(r)); err != nil {
		return outbox.Delivery{}, "", fmt.Errorf("memory: decide about %s: %w", key, err)
	}
	d := s.seenDelivery(by, key)
	switch {
	case d == nil:
		return outbox.Delivery{}, outbox.NotFound, nil
	case !from(d.State):
		return *d, outbox.NotThus, nil
	}
	if err := s.fresh(r); err != nil {
		return outbox.Delivery{}, "", fmt.Errorf("memory: decide about %s: %w", key, err)
	}
	step(d)
	d.Reason = why
	s.audit(rule.ByOperator(rule.OfDelivery(r, *d), by))
	return *d, outbox.Recorded, nil
}
