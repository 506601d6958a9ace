package rule

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// LookupDelivery is a delivery as a [Lookup] names it.
const LookupDelivery = "delivery"

// deliveries refuses intents that nobody could bring anywhere.
func deliveries(t turn.Terminal) error {
	if len(t.Deliveries) > 0 && t.Reply == "" {
		return errors.New("a turn without a reply delivers nothing")
	}
	for _, d := range t.Deliveries {
		if d.ID == "" || d.Channel == "" || d.Conversation == "" || d.Body == "" || !utf8.ValidString(d.Body) {
			return fmt.Errorf("delivery %q has no id, channel, conversation or body, or a body that is not UTF-8", d.ID)
		}
	}
	return nil
}

// Queued is an intent of a turn that ends, as it is first stored.
func Queued(d turn.Delivery, end turn.Terminal) outbox.Delivery {
	at := Millis(end.At)
	return outbox.Delivery{
		ID: d.ID, Session: end.Session, Turn: end.Turn, Channel: d.Channel, Conversation: d.Conversation, Body: d.Body,
		State: outbox.Queued, Due: at, Created: at, Changed: at,
	}
}

// ClaimOf refuses a claim that holds nothing, or that is over.
func ClaimOf(channel string, c lease.Claim, now time.Time) error {
	if channel == "" || c.Token == "" || c.Epoch == "" || c.Expired(now) {
		return errors.New("the channel is missing, or the claim has no token or epoch, or is over")
	}
	return nil
}

// Settlement refuses an end of an attempt that is none.
func Settlement(s outbox.Settlement, r event.Record) error {
	switch s.State {
	case outbox.Delivered, outbox.Failed, outbox.Unknown, outbox.Queued:
	default:
		return fmt.Errorf("an attempt does not end in the state %q", s.State)
	}
	switch {
	case (s.Reason == "") != (s.State == outbox.Delivered):
		return errors.New("a delivery has a reason exactly when it was not delivered")
	case s.Due.IsZero() != (s.State != outbox.Queued):
		return errors.New("a delivery is due exactly when it is queued")
	case s.At.IsZero():
		return errors.New("the time is missing")
	}
	return Audit(r)
}

// Abandoned is what becomes of a held delivery whose holder is gone. What may have left is sent again over a channel
// that tells a second copy from a first, and over no other.
func Abandoned(d outbox.Delivery) outbox.State {
	if d.State == outbox.Claimed || d.Idempotent {
		return outbox.Queued
	}
	return outbox.Unknown
}

// ReasonAbandoned says why, from the epoch that held it and the one that looks.
func ReasonAbandoned(d outbox.Delivery, epoch id.Epoch) string {
	if d.Claim.Epoch != epoch {
		return outbox.ReasonHostGone
	}
	return outbox.ReasonLeaseExpired
}

// Words refuses an operator's reason that says nothing or too much.
func Words(why string) error {
	if why == "" || len(why) > outbox.MaxReason || !utf8.ValidString(why) {
		return fmt.Errorf("a reason has 1 to %d bytes of UTF-8", outbox.MaxReason)
	}
	return nil
}

// Requeueable and Droppable are the states from which the operator may act.
func Requeueable(s outbox.State) bool { return s == outbox.Failed || s == outbox.Unknown }

// Droppable: see [Requeueable].
func Droppable(s outbox.State) bool { return s == outbox.Queued || Requeueable(s) }

// OfDelivery is r as the record of what d is now.
func OfDelivery(r event.Record, d outbox.Delivery) event.Record {
	r.Session, r.Turn = d.Session, d.Turn
	fields := []event.Field{
		event.F("delivery", string(d.ID)), event.F("channel", d.Channel), event.F("state", string(d.State)),
		event.F("attempt", strconv.Itoa(d.Attempts)),
	}
	if d.Reason != "" {
		fields = append(fields, event.F("reason", d.Reason))
	}
	r.Fields = append(fields, r.Fields...)
	return r
}

// ByOperator is r as the record of what by decided.
func ByOperator(r event.Record, by principal.Scope) event.Record {
	r.Principal = by.PrincipalID()
	return r
}
