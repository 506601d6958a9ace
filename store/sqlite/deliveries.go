package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

const deliveryColumns = `id, session_id, turn_id, channel, conversation_key, body, state, attempts, idempotent, due_at,
	token, epoch, fence, expires_at, reason, created_at, changed_at`

func scanDelivery(r *sql.Rows) (outbox.Delivery, error) {
	var (
		d                              outbox.Delivery
		due, expires, created, changed int64
	)
	err := r.Scan(&d.ID, &d.Session, &d.Turn, &d.Channel, &d.Conversation, &d.Body, &d.State, &d.Attempts, &d.Idempotent, &due,
		&d.Claim.Token, &d.Claim.Epoch, &d.Claim.Fence, &expires, &d.Reason, &created, &changed)
	if d.State == outbox.Queued {
		d.Due = time.UnixMilli(due).UTC()
	}
	if d.State.Held() {
		d.Claim.Expires = time.UnixMilli(expires).UTC()
	}
	d.Created, d.Changed = time.UnixMilli(created).UTC(), time.UnixMilli(changed).UTC()
	return d, err
}

// Delivery reads one delivery that by reaches; see [outbox.Records].
func (s *Store) Delivery(ctx context.Context, by principal.Scope, d id.Delivery) (outbox.Delivery, bool, error) {
	rc, err := s.accept(by)
	if err != nil {
		return outbox.Delivery{}, false, err
	}
	rows, err := s.reader.rows(ctx, oneDelivery, string(d), rc.all, rc.allowed)
	got, err := collect(rows, err, scanDelivery)
	if err == nil && len(got) == 0 {
		err = s.denied(ctx, rc, rule.Lookup{What: lookupDelivery, ID: string(d)})
	}
	if err != nil || len(got) == 0 {
		return outbox.Delivery{}, false, wrapf(err, "read delivery %s", d)
	}
	return got[0], true, nil
}

var oneDelivery = `SELECT ` + deliveryColumns + ` FROM deliveries d WHERE d.id = ? AND ` + reached("d.session_id")

// Deliveries lists those that by reaches, newest first; see [outbox.Records].
func (s *Store) Deliveries(ctx context.Context, by principal.Scope, state outbox.State, skip, limit int) ([]outbox.Delivery, error) {
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Page(skip, limit, rule.MaxPage)
	}
	if err != nil {
		return nil, wrapf(err, "list deliveries")
	}
	out, err := pages(rc, skip, limit, func(session string, skip, limit int) ([]outbox.Delivery, error) {
		query, args := `SELECT `+deliveryColumns+` FROM deliveries d WHERE `+reached("d.session_id"), []any{rc.all, rc.allowed}
		if session != "" {
			query, args = query+` AND d.session_id = ?`, append(args, session)
		}
		if state != "" {
			query, args = query+` AND d.state = ?`, append(args, string(state))
		}
		rows, err := s.reader.rows(ctx, query+` ORDER BY d.created_at DESC, d.seq DESC LIMIT ? OFFSET ?`, append(args, limit, skip)...)
		return collect(rows, err, scanDelivery)
	}, func(a, b outbox.Delivery) int { return b.Created.Compare(a.Created) })
	return out, wrapf(err, "list deliveries")
}

// RequeueDelivery queues a failed or unknown delivery anew; see [outbox.Records].
func (s *Store) RequeueDelivery(ctx context.Context, by principal.Scope, d id.Delivery, why string, r event.Record) (got outbox.Delivery, how outbox.Recording, err error) {
	rc, err := s.operates(by, why, r)
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			got, how, err = s.ruled(t, rc, d, r, rule.Requeueable, `UPDATE deliveries SET state = 'queued', reason = ?, attempts = 0,
				due_at = ?, changed_at = ? WHERE id = ? AND state IN ('failed', 'unknown') AND `+reached("deliveries.session_id"),
				why, r.At.UnixMilli(), r.At.UnixMilli(), string(d), rc.all, rc.allowed)
			return err
		})
	}
	if err != nil {
		return outbox.Delivery{}, "", wrapf(err, "queue %s anew", d)
	}
	return got, how, nil
}

// DropDelivery gives a delivery up; see [outbox.Records].
func (s *Store) DropDelivery(ctx context.Context, by principal.Scope, d id.Delivery, why string, r event.Record) (got outbox.Delivery, how outbox.Recording, err error) {
	rc, err := s.operates(by, why, r)
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			got, how, err = s.ruled(t, rc, d, r, rule.Droppable, `UPDATE deliveries SET state = 'dropped', reason = ?, changed_at = ?
				WHERE id = ? AND state IN ('queued', 'failed', 'unknown') AND `+reached("deliveries.session_id"),
				why, r.At.UnixMilli(), string(d), rc.all, rc.allowed)
			return err
		})
	}
	if err != nil {
		return outbox.Delivery{}, "", wrapf(err, "drop %s", d)
	}
	return got, how, nil
}

// operates refuses anybody but the operator, and a decision that says nothing.
func (s *Store) operates(by principal.Scope, why string, r event.Record) (reach, error) {
	if err := rule.AcceptOperator(by, s.id); err != nil {
		return reach{}, err
	}
	rc, err := s.accept(by)
	if err == nil {
		err = rule.Words(why)
	}
	if err == nil {
		err = rule.Audit(r)
	}
	return rc, err
}

// ruled takes one step that the operator decided on, if the delivery stands where it leads from.
func (s *Store) ruled(t *tx, rc reach, d id.Delivery, r event.Record, from func(outbox.State) bool, update string, args ...any) (outbox.Delivery, outbox.Recording, error) {
	rows, err := t.rows(oneDelivery, string(d), rc.all, rc.allowed)
	was, err := collect(rows, err, scanDelivery)
	switch {
	case err != nil:
		return outbox.Delivery{}, "", err
	case len(was) == 0:
		return outbox.Delivery{}, outbox.NotFound, s.deny(t, rc, rule.Lookup{What: lookupDelivery, ID: string(d)})
	case !from(was[0].State):
		return was[0], outbox.NotThus, nil
	}
	got, err := t.step(update, args...)
	switch {
	case err != nil:
		return outbox.Delivery{}, "", err
	case len(got) == 0:
		return was[0], outbox.NotThus, nil
	}
	return got[0], outbox.Recorded, s.audit(t, rule.ByOperator(rule.OfDelivery(r, got[0]), rc.by))
}
