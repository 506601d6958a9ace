package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// insertDeliveries queues what a turn owes, while it still runs.
func (t *tx) insertDeliveries(end turn.Terminal) error {
	for _, one := range end.Deliveries {
		d := rule.Queued(one, end)
		err := t.must(`INSERT INTO deliveries (id, session_id, turn_id, channel, conversation_key, body, state, attempts, idempotent,
				due_at, token, epoch, fence, expires_at, reason, created_at, changed_at)
			VALUES (?, ?, ?, ?, ?, ?, 'queued', 0, 0, ?, '', '', 0, 0, '', ?, ?)`,
			string(d.ID), string(d.Session), string(d.Turn), d.Channel, d.Conversation, d.Body, d.Due.UnixMilli(),
			d.Created.UnixMilli(), d.Changed.UnixMilli())
		if err != nil {
			return err
		}
	}
	return nil
}

// claimable is the query for what a channel may claim now. It walks what is due in its order and asks of each whether
// its conversation has something before it: what it costs is what is queued on the channel, and not what ever was.
const claimable = `SELECT d.id FROM deliveries d WHERE d.channel = ? AND d.state = 'queued' AND d.due_at <= ?
	AND NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.channel = d.channel AND e.conversation_key = d.conversation_key
		AND (e.state = 'queued' OR e.state = 'claimed' OR e.state = 'sending') AND (e.seq < d.seq OR e.state <> 'queued'))
	ORDER BY d.due_at, d.seq LIMIT 1`

// ClaimDelivery takes the delivery that has been due longest; see [outbox.Queue]. An empty queue costs a read and no
// write.
func (s *Store) ClaimDelivery(ctx context.Context, channel string, c lease.Claim) (outbox.Delivery, bool, error) {
	var got []outbox.Delivery
	err := rule.ClaimOf(channel, c, s.clock())
	if err == nil {
		var rows *sql.Rows
		rows, err = s.reader.rows(ctx, claimable, channel, s.clock().UnixMilli())
		var any []string
		if any, err = collect(rows, err, scanText); err == nil && len(any) > 0 {
			err = s.write(ctx, func(t *tx) (err error) {
				got, err = t.claim(channel, c)
				return err
			})
		}
	}
	if err != nil || len(got) == 0 {
		return outbox.Delivery{}, false, wrapf(err, "claim a delivery of %s", channel)
	}
	return got[0], true, nil
}

func (t *tx) claim(channel string, c lease.Claim) ([]outbox.Delivery, error) {
	now := t.now.UnixMilli()
	return t.step(`UPDATE deliveries SET state = 'claimed', token = ?, epoch = ?, fence = fence + 1, expires_at = ?, changed_at = ?
		WHERE id = (`+claimable+`) AND state = 'queued'`, string(c.Token), string(c.Epoch), c.Expires.UnixMilli(), now, channel, now)
}

// step changes deliveries and returns them as they are then.
func (t *tx) step(update string, args ...any) ([]outbox.Delivery, error) {
	rows, err := t.rows(update+` RETURNING `+deliveryColumns, args...)
	return collect(rows, err, scanDelivery)
}

// held is the predicate over a delivery under a live claim. It takes id, token, epoch, fence and now.
const held = `id = ? AND token = ? AND epoch = ? AND fence = ? AND expires_at > ?`

func (t *tx) heldBy(d id.Delivery, c lease.Claim) []any {
	return []any{string(d), string(c.Token), string(c.Epoch), c.Fence, t.now.UnixMilli()}
}

// fencedStep is a step under a claim, with its record; no row changed is a stale claim.
func (s *Store) fencedStep(t *tx, r *event.Record, update string, args ...any) (outbox.Fenced, error) {
	got, err := t.step(update, args...)
	if err != nil || len(got) == 0 {
		return outbox.Stale, err
	}
	if r != nil {
		err = s.audit(t, rule.OfDelivery(*r, got[0]))
	}
	return outbox.Written, err
}

// BeginSending counts an attempt before anything leaves; see [outbox.Queue].
func (s *Store) BeginSending(ctx context.Context, d id.Delivery, c lease.Claim, idempotent bool, r event.Record) (outbox.Fenced, error) {
	var how outbox.Fenced
	err := rule.Audit(r)
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			how, err = s.fencedStep(t, &r, `UPDATE deliveries SET state = 'sending', attempts = attempts + 1, idempotent = ?, reason = '',
				changed_at = ? WHERE `+held+` AND state = 'claimed'`, append([]any{idempotent, r.At.UnixMilli()}, t.heldBy(d, c)...)...)
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "begin to send %s", d)
	}
	return how, nil
}

// SettleDelivery ends an attempt and its claim; see [outbox.Queue].
func (s *Store) SettleDelivery(ctx context.Context, d id.Delivery, c lease.Claim, end outbox.Settlement, r event.Record) (outbox.Fenced, error) {
	var how outbox.Fenced
	err := rule.Settlement(end, r)
	if err == nil {
		err = s.write(ctx, func(t *tx) (err error) {
			due := int64(0)
			if !end.Due.IsZero() {
				due = end.Due.UnixMilli()
			}
			args := append([]any{string(end.State), end.Reason, due, end.At.UnixMilli()}, t.heldBy(d, c)...)
			how, err = s.fencedStep(t, &r, `UPDATE deliveries SET state = ?, reason = ?, due_at = ?, token = '', epoch = '', expires_at = 0,
				changed_at = ? WHERE `+held+` AND (state = 'sending' OR state = 'claimed' AND ? = 'failed')`, append(args, string(end.State))...)
			return err
		})
	}
	if err != nil {
		return "", wrapf(err, "settle %s", d)
	}
	return how, nil
}

// ReleaseDelivery gives back what was claimed and not sent; see [outbox.Queue].
func (s *Store) ReleaseDelivery(ctx context.Context, d id.Delivery, c lease.Claim) (outbox.Fenced, error) {
	var how outbox.Fenced
	err := s.write(ctx, func(t *tx) (err error) {
		how, err = s.fencedStep(t, nil, `UPDATE deliveries SET state = 'queued', token = '', epoch = '', expires_at = 0, due_at = ?, changed_at = ?
			WHERE `+held+` AND state = 'claimed'`, append([]any{t.now.UnixMilli(), t.now.UnixMilli()}, t.heldBy(d, c)...)...)
		return err
	})
	if err != nil {
		return "", wrapf(err, "release %s", d)
	}
	return how, nil
}

// RecoverDeliveries takes what is held from holders that are gone; see [outbox.Queue]. It reads what is held, which is
// at most one for each channel and host.
func (s *Store) RecoverDeliveries(ctx context.Context, epoch id.Epoch, now time.Time) ([]outbox.Recovered, error) {
	var done []outbox.Recovered
	err := s.write(ctx, func(t *tx) error {
		done = nil
		rows, err := t.rows(`SELECT `+deliveryColumns+` FROM deliveries WHERE token <> '' AND epoch > ''
			AND (epoch <> ? OR expires_at <= ?)`, string(epoch), now.UnixMilli())
		lost, err := collect(rows, err, scanDelivery)
		if err != nil {
			return err
		}
		slices.SortFunc(lost, func(a, b outbox.Delivery) int { return cmp.Compare(a.ID, b.ID) })
		for _, d := range lost {
			state := rule.Abandoned(d)
			got, err := t.step(`UPDATE deliveries SET state = ?, reason = ?, due_at = ?, token = '', epoch = '', expires_at = 0,
				changed_at = ? WHERE id = ? AND token = ?`, string(state), rule.ReasonAbandoned(d, epoch), now.UnixMilli(),
				now.UnixMilli(), string(d.ID), string(d.Claim.Token))
			if err != nil {
				return err
			}
			for _, is := range got {
				if err := s.audit(t, rule.OfDelivery(event.Record{ID: s.ids.Event(), At: now, Kind: event.DeliveryRecovered}, is)); err != nil {
					return err
				}
				done = append(done, outbox.Recovered{Delivery: is.ID, State: is.State})
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrapf(err, "recover deliveries")
	}
	return done, nil
}

// WaitingChannels steps from one channel name to the next, so that it costs what there are channels; see [outbox.Queue].
func (s *Store) WaitingChannels(ctx context.Context, limit int) ([]string, error) {
	if err := rule.Limit(limit, rule.MaxPage); err != nil {
		return nil, wrapf(err, "list waiting channels")
	}
	var out []string
	for last := ""; len(out) < limit; last = out[len(out)-1] {
		rows, err := s.reader.rows(ctx, `SELECT d.channel FROM deliveries d INDEXED BY deliveries_due WHERE d.state = 'queued' AND d.channel > ?
			ORDER BY d.channel LIMIT 1`, last)
		next, err := collect(rows, err, scanText)
		if err != nil {
			return nil, wrapf(err, "list waiting channels")
		}
		if len(next) == 0 {
			break
		}
		out = append(out, next[0])
	}
	return out, nil
}

func scanText(r *sql.Rows) (text string, err error) {
	err = r.Scan(&text)
	return text, err
}
