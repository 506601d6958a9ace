package rule

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Reasons of what a tool's own recovery settles.
const (
	ReasonReads      = "recovery_read"
	ReasonIdempotent = "recovery_idempotent"
)

// Settles is what the recovery that e's tool declared settles about e, which ended indeterminate: an empty Resolution where
// only a person can say.
func Settles(e effect.Record) effect.Resolution {
	at := Millis(e.FinishedAt)
	switch e.Recovery {
	case "read":
		return effect.Resolution{Verdict: effect.NothingToDo, Reason: ReasonReads, At: at}
	case "idempotent":
		return effect.Resolution{Verdict: effect.MayBeRepeated, Reason: ReasonIdempotent, At: at}
	}
	return effect.Resolution{}
}

// Resolution refuses what does not settle anything.
func Resolution(r effect.Resolution, rec event.Record) error {
	n := utf8.RuneCountInString(r.Reason)
	switch {
	case r.Verdict != effect.Happened && r.Verdict != effect.NotHappened:
		return fmt.Errorf("%q is no verdict of a person", r.Verdict)
	case n < 1 || n > effect.MaxResolveReason || !utf8.ValidString(r.Reason):
		return fmt.Errorf("the reason has not 1 to %d characters of UTF-8", effect.MaxResolveReason)
	case r.By == "" || r.At.IsZero():
		return errors.New("the resolution names nobody, or has no time")
	case r.Reference != "":
		return errors.New("a reference is a plugin's to give")
	}
	return Audit(rec)
}

// Reconciliation refuses what no tool can say of an effect.
func Reconciliation(r effect.Resolution, rec event.Record) error {
	switch {
	case r.Verdict == effect.Happened && r.Reason == effect.ReasonCommitted:
	case r.Verdict == effect.NotHappened && r.Reason == effect.ReasonNotFound && r.Reference == "":
	default:
		return fmt.Errorf("%q with the reason %q and the reference %q is nothing that a tool can say", r.Verdict, r.Reason, r.Reference)
	}
	if r.At.IsZero() || len(r.Reference) > wire.MaxReference || !utf8.ValidString(r.Reference) {
		return fmt.Errorf("the reconciliation has no time, or a reference of more than %d bytes of UTF-8", wire.MaxReference)
	}
	return Audit(rec)
}

// SpeaksFor refuses the word of a plugin that did not run e, or whose tool did not declare that it can say.
func SpeaksFor(e effect.Record, r effect.Resolution) error {
	if e.Recovery != wire.RecoveryReconcile || e.Plugin == "" || r.By != effect.ReconciledBy(e.Plugin) {
		return fmt.Errorf("%s does not speak for an effect of %q with recovery %s", r.By, e.Plugin, e.Recovery)
	}
	return nil
}

// Actor is who a turn acted for: the operator, or the owner of its session.
func Actor(of, owner principal.Facts) principal.Facts {
	if of.Authority == principal.Operator {
		return of
	}
	return owner
}

// Settling is how a resolution of e is taken. Only Settled changes anything.
func Settling(e effect.Record) effect.Settling {
	switch {
	case e.Status != effect.Indeterminate:
		return effect.NotUncertain
	case e.Resolution.Verdict != "":
		return effect.SettledBefore
	}
	return effect.Settled
}

// Resolved is r rewritten to say what e's resolution is.
func Resolved(r event.Record, e effect.Record) event.Record {
	r.Kind, r.Session, r.Turn, r.Effect, r.Principal = event.EffectResolved, e.Session, e.Turn, e.ID, e.Resolution.By
	r.Fields = []event.Field{
		event.F("tool", e.Tool), event.F("recovery", e.Recovery), event.F("verdict", string(e.Resolution.Verdict)),
		event.F("reason", e.Resolution.Reason),
	}
	if e.Resolution.Reference != "" {
		r.Fields = append(r.Fields, event.F("reference", e.Resolution.Reference))
	}
	return r
}

// SettledItself is the record of what e's own recovery settled.
func SettledItself(e effect.Record, name id.Event, trace id.Trace) event.Record {
	return Resolved(event.Record{ID: name, At: e.Resolution.At, Trace: trace}, e)
}
