package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/go-json-experiment/json/jsontext"
)

// Started refuses an intent that is not one.
func Started(s effect.Started, r event.Record) error {
	switch {
	case s.Effect == "" || s.Turn == "" || s.Session == "" || s.Tool == "" || s.At.IsZero():
		return errors.New("the effect, turn, session, tool or time is missing")
	case s.Recovery != "read" && s.Recovery != "idempotent" && s.Recovery != "reconcile" && s.Recovery != "manual":
		return fmt.Errorf("unknown recovery class %q", s.Recovery)
	case !jsontext.Value(s.Arguments).IsValid():
		return errors.New("the arguments are not JSON")
	}
	return Audit(r)
}

// Stands reports whether every grant that s goes by is among those that its plugin has.
func Stands(s effect.Started, have []string) bool {
	for _, g := range s.Grants {
		if !slices.Contains(have, g) {
			return false
		}
	}
	return true
}

// PluginOf is the id of a plugin in "<id>@<version>".
func PluginOf(label string) string {
	plugin, _, _ := strings.Cut(label, "@")
	return plugin
}

// Finished refuses an end that is none. What never started cannot have succeeded or be in doubt.
func Finished(f effect.Finished, r event.Record) error {
	switch {
	case f.Effect == "" || f.Turn == "" || f.Session == "" || f.At.IsZero():
		return errors.New("the effect, turn, session or time is missing")
	case !f.Status.Valid():
		return fmt.Errorf("unknown status %q", f.Status)
	case !f.Started && (f.Status == effect.Succeeded || f.Status == effect.Indeterminate):
		return fmt.Errorf("an effect that did not start cannot be %s", f.Status)
	case f.Duration < 0:
		return errors.New("the duration is negative")
	case len(f.Durable) != 0 && !jsontext.Value(f.Durable).IsValid():
		return errors.New("the durable view is not JSON")
	}
	return Audit(r)
}

// Question refuses a question that nobody could answer.
func Question(q approval.Question, r event.Record) error {
	switch {
	case q.ID == "" || q.Session == "" || q.Turn == "" || q.Principal == "" || q.Tool == "" || q.Digest == "":
		return errors.New("the question's id, session, turn, principal, tool or digest is missing")
	case !q.Risk.Valid():
		return errors.New("the question has no risk")
	case q.State != approval.Pending || q.Reach != "" || q.DecidedBy != "" || q.Reason != "" || !q.Decided.IsZero():
		return errors.New("the question is decided already")
	case q.Asked.IsZero() || !Millis(q.Expires).After(Millis(q.Asked)):
		return errors.New("the question expires before it is asked")
	}
	return Audit(r)
}

// Answer refuses an answer that the question did not offer.
func Answer(q approval.Question, a approval.Answer) error {
	switch {
	case a.State != approval.Allowed && a.State != approval.Denied && a.State != approval.Expired:
		return fmt.Errorf("%q is no answer", a.State)
	case (a.State == approval.Allowed) != (a.Reach != ""):
		return errors.New("an answer has a reach exactly when it allows")
	case a.Reach != "" && a.Reach != approval.Once && a.Reach != approval.ForSession:
		return fmt.Errorf("unknown reach %q", a.Reach)
	case a.Reach == approval.ForSession && !q.Cacheable:
		return fmt.Errorf("question %s may be allowed once only", q.ID)
	case a.State == approval.Allowed && a.By == "":
		return errors.New("an allowance needs the name of who gave it")
	}
	return nil
}

// TooLate reports whether an answer comes after the deadline. Recording that nobody answered is never too late.
func TooLate(q approval.Question, a approval.Answer, nowMillis int64) bool {
	return a.State != approval.Expired && nowMillis >= q.Expires.UnixMilli()
}

// Lapsed is r rewritten to say that the question ran out instead of what it was to say.
func Lapsed(r event.Record, q approval.Question, reason string) event.Record {
	r.Kind = event.ApprovalDecided
	r.Fields = []event.Field{
		event.F("approval", string(q.ID)), event.F("tool", q.Tool),
		event.F("state", string(approval.Expired)), event.F("reason", reason),
	}
	return r
}

// ReasonSessionEnded is the reason of a question and of an allowance whose session was ended.
const ReasonSessionEnded = "session_ended"

// TakenBack is the record of an allowance that went with its session, which r is about.
func TakenBack(r event.Record, q approval.Question, name id.Event) event.Record {
	return event.Record{
		ID: name, At: r.At, Kind: event.ApprovalRevoked, Principal: r.Principal, Session: q.Session, Turn: q.Turn, Effect: q.Effect,
		Fields: []event.Field{event.F("approval", string(q.ID)), event.F("tool", q.Tool), event.F("reason", ReasonSessionEnded)},
	}
}

// ReasonDeadline is the reason of a question whose deadline passed before its answer.
const ReasonDeadline = "deadline_passed"

// OfEffect is the record of an effect's start or end, which names that effect with its turn: a listing finds it by them.
func OfEffect(r event.Record, s id.Session, t id.Turn, e id.Effect) event.Record {
	r.Session, r.Turn, r.Effect = s, t, e
	return r
}
