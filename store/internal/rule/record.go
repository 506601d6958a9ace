package rule

import (
	"fmt"
	"strings"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// Audit refuses a record that says nothing: a change without its record must not be written.
func Audit(r event.Record) error {
	if r.Kind == "" || r.ID == "" || r.At.IsZero() {
		return fmt.Errorf("audit record %q has no id, time or kind", r.ID)
	}
	return nil
}

// Normal is r as stores keep it: inside its bounds, valid UTF-8, whole milliseconds. It never refuses, because an
// audit row must not be lost for its spelling.
func Normal(r event.Record) event.Record {
	fields := make([]event.Field, len(r.Fields))
	for i, f := range r.Fields {
		fields[i] = event.Field{Name: strings.ToValidUTF8(f.Name, "\uFFFD"), Value: strings.ToValidUTF8(f.Value, "\uFFFD")}
	}
	r.Fields = fields
	r = event.Clean(r)
	r.At = Millis(r.At)
	return r
}

// Admitted is the part of r that an admission writes: the session's own record only when the session was made, each
// with the session and turn that it was resolved to.
func Admitted(a turn.Admission, got turn.Admittance, r []event.Record) []event.Record {
	out := make([]event.Record, 0, len(r))
	for _, rec := range r {
		if rec.Kind == event.SessionCreated && !got.Created {
			continue
		}
		rec.Session, rec.Turn = got.Session, a.Turn
		out = append(out, rec)
	}
	return out
}
