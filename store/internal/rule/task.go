package rule

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// LookupTask is a task as a [Lookup] names it.
const LookupTask = "task"

// NewTask refuses a task that says too little or too much of itself.
func NewTask(t task.Task, kind task.Kind, r event.Record) error {
	switch {
	case t.Kind != kind:
		return fmt.Errorf("a task of kind %q is not queued this way", t.Kind)
	case t.ID == "" || t.Instance == "" || t.Core == "" || t.Title == "" || t.Spec == "" || t.Created.IsZero():
		return errors.New("the task has no id, instance, core, title, spec or time")
	case len(t.Title) > task.MaxTitle || len(t.Spec) > task.MaxSpec || !utf8.ValidString(t.Title+t.Spec+t.Scope):
		return errors.New("the title or spec of the task is too long or not UTF-8")
	case kind == task.Process && (t.Session == "" || t.Turn == "" || t.Schedule != "" || !t.Due.IsZero()):
		return errors.New("a process is of a session and turn, and of no schedule")
	case kind == task.Fire && (t.Session != "" || t.Turn != "" || t.Schedule == "" || t.Due.IsZero()):
		return errors.New("a run of a schedule has a schedule and due time, and no session or turn yet")
	}
	if kind == task.Fire {
		if err := t.Owner.CheckOwner(); err != nil {
			return err
		}
	}
	return Audit(r)
}

// TaskQueued is a new task as it is first stored.
func TaskQueued(t task.Task) task.Task {
	t.State, t.Claim, t.Unwanted, t.Reason, t.Summary, t.Notice, t.Told = task.Queued, lease.Claim{}, false, "", "", "", ""
	t.LogBytes, t.LogLines = 0, 0
	t.Due, t.Created, t.Started, t.Ended = Millis(t.Due), Millis(t.Created), time.Time{}, time.Time{}
	t.Owner.SessionID, t.Owner.AllowedSessions, t.Owner.Reason = "", nil, ""
	return t
}

// TaskClaim refuses a claim that holds nothing, or that is over.
func TaskClaim(c lease.Claim, now time.Time) error {
	if c.Token == "" || c.Epoch == "" || c.Expired(now) {
		return errors.New("the claim has no token or epoch, or is over")
	}
	return nil
}

// TaskChunk refuses an append that is none.
func TaskChunk(text string) error {
	if text == "" || len(text) > task.MaxChunk || !utf8.ValidString(text) {
		return fmt.Errorf("an append to a log has 1 to %d bytes of UTF-8", task.MaxChunk)
	}
	return nil
}

// Lines counts the line ends of a text.
func Lines(text string) int64 { return int64(strings.Count(text, "\n")) }

// TaskEnd refuses an end that is none, and bounds what is said of it.
func TaskEnd(e task.End, r event.Record) (task.End, error) {
	switch e.State {
	case task.Succeeded, task.Failed, task.Cancelled:
	default:
		return e, fmt.Errorf("a worker does not end a task as %q", e.State)
	}
	if (e.Reason == "") != (e.State == task.Succeeded) || e.At.IsZero() {
		return e, errors.New("a task that ends has a time, and a reason exactly when it did not succeed")
	}
	e.Reason, e.Summary = cutText(e.Reason, task.MaxReason), cutText(e.Summary, task.MaxSummary)
	return e, Audit(r)
}

// MaxAhead is how far a schedule's cursor may lie beyond now. No cursor is set beyond the clock of its time, so only clocks
// that differ explain more: for this long a small step back may keep a schedule waiting, which is due on the minute.
const MaxAhead = time.Minute

// Ahead reports whether a schedule's cursor was set while the clock stood too late. It is pulled back to now then, or
// nothing would be due until the wrong time comes. What was already fired is not fired again: its instance is known.
func Ahead(cursor, now time.Time) bool { return Millis(cursor).After(Millis(now.Add(MaxAhead))) }

func cutText(s string, limit int) string {
	return strings.ToValidUTF8(s[:min(len(s), limit)], "")
}

// ReasonTaskLost says why a task is lost, from the epoch that held it and the one that looks.
func ReasonTaskLost(t task.Task, epoch id.Epoch) string {
	if t.Claim.Epoch != epoch {
		return task.ReasonHostGone
	}
	return task.ReasonLeaseExpired
}

// OfTask is r as the record of what t is now.
func OfTask(r event.Record, t task.Task) event.Record {
	r.Session, r.Turn = t.Session, t.Turn
	r.Principal = cmp.Or(r.Principal, t.Owner.PrincipalID)
	fields := []event.Field{
		event.F("task", string(t.ID)), event.F("kind", string(t.Kind)), event.F("state", string(t.State)), event.F("core", t.Core),
	}
	if t.Schedule != "" {
		fields = append(fields, event.F("schedule", t.Schedule), event.F("due", strconv.FormatInt(t.Due.UnixMilli(), 10)))
	}
	if t.Reason != "" {
		fields = append(fields, event.F("reason", t.Reason))
	}
	r.Fields = append(fields, r.Fields...)
	return r
}

// TaskTail is the end of a log of chunks, newest first, within bounds: whole lines where there are lines.
func TaskTail(chunks []string, lines, maxBytes int) string {
	var size int
	n := 0
	for n < len(chunks) && size < maxBytes {
		size += len(chunks[n])
		n++
	}
	var b strings.Builder
	for i := n - 1; i >= 0; i-- {
		b.WriteString(chunks[i])
	}
	text := b.String()
	if over := len(text) - maxBytes; over > 0 {
		text = strings.ToValidUTF8(text[over:], "")
	}
	end := len(strings.TrimSuffix(text, "\n"))
	for at, left := end, lines; ; left-- {
		if left == 0 {
			return text[at+1:]
		}
		if at = strings.LastIndexByte(text[:at], '\n'); at < 0 {
			return text
		}
	}
}

// NoticeOf is what a turn is told of a task that ended.
func NoticeOf(t task.Task) turn.Notice {
	return turn.Notice{Task: t.ID, Title: t.Title, State: string(t.State), Reason: t.Reason, Summary: t.Said(), Ended: t.Ended}
}
