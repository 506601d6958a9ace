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
	open, outcome, err := s.endTurn(t, end, o.trace, why)
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
