package rule

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/go-json-experiment/json/jsontext"
)

// Admission refuses an admission that no store could write. now is the store's clock.
func Admission(a turn.Admission, r []event.Record, now time.Time) error {
	switch {
	case a.Request == "" || a.Turn == "" || a.Digest == "":
		return errors.New("the request key, its digest or the turn id is missing")
	case a.Core == "" || a.Revision == "":
		return errors.New("the core or its revision is missing")
	case a.Claim.Token == "" || a.Claim.Epoch == "" || a.Claim.Expired(now):
		return errors.New("the claim has no token or epoch, or is over")
	case a.Selector.Kind != turn.Bound && a.Selector.Kind != turn.Fresh && a.Selector.Kind != turn.Resume:
		return fmt.Errorf("unknown session selector %q", a.Selector.Kind)
	case (a.Selector.Kind == turn.Resume) != (a.Selector.Session != ""):
		return errors.New("a session is named exactly when it is resumed")
	case a.Selector.Kind != turn.Resume && a.NewSession == "":
		return errors.New("the id for a new session is missing")
	case !slices.ContainsFunc(r, func(e event.Record) bool { return e.Kind == event.TurnStarted }):
		return errors.New("the turn.started record is missing")
	case !slices.ContainsFunc(r, func(e event.Record) bool { return e.Kind == event.SessionCreated }) && a.Selector.Kind != turn.Resume:
		return errors.New("the session.created record is missing")
	}
	for _, rec := range r {
		if err := Audit(rec); err != nil {
			return err
		}
	}
	if err := messages(a.Messages, a.Turn); err != nil {
		return err
	}
	return a.Owner.CheckOwner()
}

// Messages refuses messages that could not be shown to a model again.
func Messages(m []turn.Message, t id.Turn) error {
	if len(m) == 0 {
		return errors.New("no messages to append")
	}
	return messages(m, t)
}

func messages(m []turn.Message, t id.Turn) error {
	for _, one := range m {
		switch {
		case one.ID == "" || one.Turn != t || one.At.IsZero():
			return fmt.Errorf("message %q has no id or time, or is of another turn than %s", one.ID, t)
		case one.Role != "user" && one.Role != "assistant" && one.Role != "tool":
			return fmt.Errorf("message %s has the unknown role %q", one.ID, one.Role)
		case !jsontext.Value(one.Body).IsValid():
			return fmt.Errorf("message %s has a body that is not JSON", one.ID)
		}
	}
	return nil
}

// Terminal refuses an end that is none.
func Terminal(t turn.Terminal, r event.Record) error {
	replies := t.Outcome == turn.Completed || t.Outcome == turn.NeedsUser || t.Outcome == turn.Indeterminate
	switch {
	case !t.Outcome.Valid():
		return fmt.Errorf("unknown outcome %q", t.Outcome)
	case t.Reply != "" && !replies:
		return fmt.Errorf("a %s turn delivers no reply", t.Outcome)
	case t.Outcome == turn.Completed && t.Reason != "":
		return errors.New("a completed turn has no reason")
	case t.Steps < 0 || t.At.IsZero():
		return errors.New("the steps are negative or the time is missing")
	}
	if err := errors.Join(messages(t.Messages, t.Turn), deliveries(t)); err != nil {
		return err
	}
	return Audit(r)
}

// Reasons of what a store ends by itself.
const (
	ReasonTurnEnded    = "turn_ended" // an effect or question was open when its turn ended
	ReasonLeaseExpired = turn.ReasonLeaseExpired
	ReasonHostGone     = "host_restarted" // a turn of an earlier Host lifetime
)

// Orphan is what becomes of a running turn whose claim is over; uncertain is whether of some effect of it nobody knows the end,
// because it has none or because that is its end, and asked whether somebody asked for the turn's end. Who asked gets what was
// asked for, unless that would hide what nobody knows.
func Orphan(uncertain, asked bool) turn.Outcome {
	switch {
	case uncertain:
		return turn.Indeterminate
	case asked:
		return turn.Cancelled
	}
	return turn.Lost
}

// CancelNote refuses a record of the end of a turn that does not say for whom it runs.
func CancelNote(r event.Record, t id.Turn) error {
	if r.Principal == "" || r.Turn != t {
		return fmt.Errorf("audit record %q has no principal, or is of another turn than %s", r.ID, t)
	}
	return Audit(r)
}
