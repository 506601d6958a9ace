// Package event owns the audit record: an append-only, already redacted fact about what was decided or done.
//
// A Record carries ids, stable codes and short texts that passed the redactor; never a payload, a secret, a
// prompt or an argument value. Stores append records in the transaction of the change they describe and never
// update one. A record that cannot be written stops the thing it would describe: an effect without its audit row
// is denied. Records survive a crash exactly when the change they describe does.
package event

import (
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
)

// Kind is the stable name of what happened.
type Kind string

// The kinds. Names are `noun.verb`, past tense, and never change once released.
const (
	SessionCreated  Kind = "session.created"
	SessionEnded    Kind = "session.ended"
	TurnStarted     Kind = "turn.started"
	TurnFinished    Kind = "turn.finished"
	TurnRecovered   Kind = "turn.recovered"
	TurnCancelAsked Kind = "turn.cancel_requested" // the end of a running turn was asked for, or came with the end of whoever asked for it
	EffectDenied    Kind = "effect.denied"
	EffectStarted   Kind = "effect.started"
	EffectFinished  Kind = "effect.finished"
	EffectResolved  Kind = "effect.resolved"
	EffectUnsettled Kind = "effect.unsettled" // its tool was to say what became of it, and it stays uncertain
	ApprovalAsked   Kind = "approval.requested"
	ApprovalDecided Kind = "approval.decided"
	ApprovalRefused Kind = "approval.refused" // somebody who may not decide tried to
	ApprovalRevoked Kind = "approval.revoked"
	PluginGranted   Kind = "plugin.granted"
	PluginRevoked   Kind = "plugin.revoked"
	PluginInstalled Kind = "plugin.installed"
	PluginRemoved   Kind = "plugin.removed"
	OperatorIssued  Kind = "principal_scope.operator_issued"
	LookupDenied    Kind = "principal_scope.owner_lookup_denied"
	LegacyAccessed  Kind = "principal_scope.legacy_repair_accessed"
	EgressDecided   Kind = "egress.decided"
	SecretSet       Kind = "secret.set"
	SecretRotated   Kind = "secret.rotated"
	SecretRemoved   Kind = "secret.removed"
	SecretBound     Kind = "secret.bound"

	DeliveryStarted   Kind = "delivery.started"   // an attempt: from here on it may have left this machine
	DeliverySettled   Kind = "delivery.settled"   // what became of the attempt
	DeliveryRecovered Kind = "delivery.recovered" // its host died or let its claim run out
	DeliveryRequeued  Kind = "delivery.requeued"  // by the operator
	DeliveryDropped   Kind = "delivery.dropped"   // by the operator

	TaskQueued      Kind = "task.queued"
	TaskStarted     Kind = "task.started"          // a worker has it: from here on it may have done something
	TaskFinished    Kind = "task.finished"         // by its worker
	TaskLost        Kind = "task.lost"             // its host died or let its claim run out; it is not run again
	TaskCancelAsked Kind = "task.cancel_requested" // of one that runs; its worker ends it
	TaskCancelled   Kind = "task.cancelled"        // of one that no worker had
)

// Kinds are all of them, in the order above.
func Kinds() []Kind {
	return []Kind{
		SessionCreated, SessionEnded, TurnStarted, TurnFinished, TurnRecovered, TurnCancelAsked, EffectDenied, EffectStarted,
		EffectFinished, EffectResolved, EffectUnsettled, ApprovalAsked, ApprovalDecided, ApprovalRefused, ApprovalRevoked,
		PluginGranted, PluginRevoked, PluginInstalled, PluginRemoved, OperatorIssued, LookupDenied, LegacyAccessed,
		EgressDecided, SecretSet, SecretRotated, SecretRemoved, SecretBound, DeliveryStarted, DeliverySettled,
		DeliveryRecovered, DeliveryRequeued, DeliveryDropped, TaskQueued, TaskStarted, TaskFinished, TaskLost, TaskCancelAsked,
		TaskCancelled,
	}
}

// Bounds of one record. A text over its bound is cut by [Clean], never refused: an audit row must not be lost
// because a name was long.
const (
	MaxFields     = 32
	MaxFieldBytes = 1024
)

// Record is one audit record. Values in Fields must have passed the redactor's event view.
type Record struct {
	ID        id.Event
	At        time.Time // UTC
	Kind      Kind
	Principal string     // principal id, or empty where nobody acted
	Session   id.Session // the rest are empty where they do not apply
	Turn      id.Turn
	Effect    id.Effect
	Trace     id.Trace
	Fields    []Field
}

// Field is one named detail. Order is kept.
type Field struct{ Name, Value string }

// F is shorthand for a Field.
func F(name, value string) Field { return Field{name, value} }

// Field returns the value of the named field, or empty.
func (r Record) Field(name string) string {
	for _, f := range r.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Clean returns r with its fields inside the bounds: at most [MaxFields], each value at most [MaxFieldBytes],
// cut on a rune border, and time in UTC milliseconds, as stores keep it.
func Clean(r Record) Record {
	fields := make([]Field, 0, min(len(r.Fields), MaxFields))
	for _, f := range r.Fields[:min(len(r.Fields), MaxFields)] {
		fields = append(fields, Field{cut(f.Name, 64), cut(f.Value, MaxFieldBytes)})
	}
	r.Fields = fields
	r.At = r.At.UTC().Truncate(time.Millisecond)
	return r
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + "…"
}
