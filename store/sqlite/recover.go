package sqlite

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
)

// Recover ends every running turn whose claim is of another epoch or over at now; see [turn.Journal]. All of it is one
// transaction; there are at most as many such turns as sessions that were busy when their host died.
func (s *Store) Recover(ctx context.Context, epoch id.Epoch, now time.Time) ([]turn.Recovered, error) {
	var done []turn.Recovered
	err := s.write(ctx, func(t *tx) error {
		done = nil
		orphans, err := t.orphans(epoch, now)
		if err != nil {
			return err
		}
		for _, o := range orphans {
			why := rule.ReasonLeaseExpired
			if o.epoch != epoch {
				why = rule.ReasonHostGone
			}
			one, err := s.orphan(t, o, why, now)
			if err != nil {
				return err
			}
			done = append(done, one)
			// Its turn wrote the session's summary, if anybody did: whoever asks next need not wait until that lease runs out.
			if _, err = t.exec(`UPDATE compactions SET token = '' WHERE session_id = ? AND epoch <> ?`, string(o.session), string(epoch)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrapf(err, "recover turns")
	}
	return done, nil
}

// orphaned is a running turn whose claim is over.
type orphaned struct {
	turn    id.Turn
	session id.Session
	trace   id.Trace
	epoch   id.Epoch
}

// orphans lists them in the order the turns began. The leases table holds only running turns, so reading all of it
// costs what is under way and not what ever was.
func (t *tx) orphans(epoch id.Epoch, now time.Time) ([]orphaned, error) {
	rows, err := t.rows(`SELECT l.turn_id, l.session_id, l.epoch, t.trace FROM leases l CROSS JOIN turns t ON t.id = l.turn_id
		WHERE l.epoch <> ? OR l.expires_at <= ? ORDER BY t.seq`, string(epoch), now.UnixMilli())
	return collect(rows, err, func(r *sql.Rows) (o orphaned, err error) {
		err = r.Scan(&o.turn, &o.session, &o.epoch, &o.trace)
		return o, err
	})
}

// orphan ends one turn that nobody will finish, with its record.
func (s *Store) orphan(t *tx, o orphaned, why string, at time.Time) (turn.Recovered, error) {
	end := turn.Terminal{Turn: o.turn, Session: o.session, Reason: why, At: at}
	var (
		open    int
		outcome turn.Outcome
		err     error
	)
	if end.Steps, end.Usage, err = t.spent(o); err == nil {
		open, outcome, err = s.endTurn(t, end, o.trace, why)
	}
	if err != nil {
		return turn.Recovered{}, err
	}
	got := turn.Recovered{Turn: o.turn, Session: o.session, Outcome: outcome, Effects: open}
	return got, s.audit(t, event.Record{
		ID: s.ids.Event(), At: at, Kind: event.TurnRecovered, Session: o.session, Turn: o.turn, Trace: o.trace,
		Fields: []event.Field{
			event.F("outcome", string(got.Outcome)), event.F("reason", why), event.F("effects", strconv.Itoa(open)),
		},
	})
}

// spent is what a turn's model reported so far, of which nobody else kept count. Observations have no index of their turns. Their
// keys are in the order they were made, so it reads those since the turn began: a turn that is recovered is one of the last, and
// it reads no more of them than [rule.MaxSpent].
func (t *tx) spent(o orphaned) (steps int, u turn.Usage, err error) {
	var began int64
	if err = t.row(`SELECT t.started_at FROM turns t WHERE t.id = ?`, string(o.turn)).Scan(&began); err != nil {
		return 0, u, err
	}
	since := id.DecisionsSince(time.UnixMilli(began).Add(-rule.SpentBefore))
	err = t.row(`SELECT coalesce(max(few.step), 0), coalesce(sum(min(few.tokens_input, ?1)), 0), coalesce(sum(min(few.tokens_output, ?1)), 0),
			coalesce(sum(min(few.tokens_cache_read, ?1)), 0), coalesce(sum(min(few.tokens_cache_write, ?1)), 0)
		FROM (SELECT n.turn_id, n.step, n.tokens_input, n.tokens_output, n.tokens_cache_read, n.tokens_cache_write FROM observations n
			WHERE n.decision >= ?2 ORDER BY n.decision DESC LIMIT ?3) few
		WHERE few.turn_id = ?4`, int64(rule.MaxReported), string(since), rule.MaxSpent, string(o.turn)).
		Scan(&steps, &u.Input, &u.Output, &u.CacheRead, &u.CacheWrite)
	return steps, u, err
}

// vacate reports whether a session can take a new turn. A running turn whose claim is over is ended on the way.
func (s *Store) vacate(t *tx, at vacancy) (bool, error) {
	if at.running.turn == "" {
		return true, nil
	}
	if at.expires > t.now.UnixMilli() {
		return false, nil
	}
	_, err := s.orphan(t, at.running, rule.ReasonLeaseExpired, t.now)
	return err == nil, err
}
