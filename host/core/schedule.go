package core

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ScheduleFolder is where a core's schedules lie, in [SurfaceFolder]: <id>.yaml each.
const ScheduleFolder = "schedules"

// Bounds of schedules.
const (
	MaxSchedules = 32
	maxPrompt    = 16 << 10
	maxCron      = 200
)

// Schedule is one file of [ScheduleFolder]: a prompt that is given to the core at certain times. The zero Schedule is
// never due.
type Schedule struct {
	ID      string
	Cron    string // five fields
	Zone    string // IANA name
	Enabled bool
	Prompt  string
	Session string // name of the session that its runs share; empty: each has a fresh one

	fields *cron.SpecSchedule // in its zone
	fixed  bool               // the hour is named: its times are of the day's clock, see [Schedule.Next]
}

// Digest is over all that decides when the schedule is due. What it says when it is due is not part of it.
func (s Schedule) Digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "portcullis schedule 1\n%q %q %v", s.Cron, s.Zone, s.Enabled))
	return hex.EncodeToString(sum[:])
}

// Next is the first time after after that the schedule is due, whether it is enabled or not, to the minute; false when
// there is none within five years.
//
// Where clocks are changed: when the field of hours begins with *, every minute that really passes counts, so that an
// hour that comes twice is run through twice, and one that is left out has no runs. When it names hours, each time of the
// day is due once: a time that comes twice at its first coming, and one that is left out at the moment that the clock
// jumps.
func (s Schedule) Next(after time.Time) (time.Time, bool) {
	if s.fields == nil {
		return time.Time{}, false
	}
	zone := s.fields.Location
	plain := *s.fields
	plain.Location = time.UTC
	if !s.fixed {
		return nextShown(&plain, after.In(zone))
	}
	// The clock's own times, as if no clock was ever changed, from a little before: none is left out that way.
	for clock := clockOf(after.In(zone)).Add(-3 * time.Hour); ; {
		if clock = plain.Next(clock); clock.IsZero() {
			return time.Time{}, false
		}
		if at := firstAt(clock, zone); at.After(after) {
			return at, true
		}
	}
}

// nextShown is the first time after after, in its zone, at which the clock shows a time of plain. It goes from one change
// of the clock to the next, and on a plain clock in between: cron's own walk through a zone loses a day that has no midnight.
func nextShown(plain *cron.SpecSchedule, after time.Time) (time.Time, bool) {
	last := after.AddDate(5, 0, 0)
	for t, from := after, clockOf(after); !t.After(last); {
		shown := plain.Next(from)
		if shown.IsZero() {
			return time.Time{}, false
		}
		at := t.Add(shown.Sub(clockOf(t)))
		_, end := t.ZoneBounds()
		if end.IsZero() || at.Before(end) {
			return at, true
		}
		t, from = end, clockOf(end).Add(-time.Second) // the moment of the change counts
	}
	return time.Time{}, false
}

// clockOf is what a clock shows at t, as a time of UTC.
func clockOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// firstAt is when a clock of zone first shows at least clock, which is a time of UTC.
func firstAt(clock time.Time, zone *time.Location) time.Time {
	t := time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
	begin, end := t.ZoneBounds()
	shows := clockOf(t)
	switch {
	case shows.After(clock) && !begin.IsZero(): // left out: t is behind the jump
		return begin
	case shows.Before(clock) && !end.IsZero(): // left out: t is before it
		return end
	case begin.IsZero():
		return t
	}
	_, offset := t.Zone()
	_, before := begin.Add(-time.Second).Zone()
	if back := t.Add(time.Duration(offset-before) * time.Second); before > offset && back.Before(begin) { // the clock showed it before it was set back
		return back
	}
	return t
}

// Latest is the last time that the schedule was due after after and up to now; false when there is none. However long
// nobody looked, it costs no more than the times of a month.
func (s Schedule) Latest(after, now time.Time) (time.Time, bool) {
	first, is := s.Next(after)
	if !is || first.After(now) {
		return time.Time{}, false
	}
	for _, back := range []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour} {
		if near, is := s.Next(now.Add(-back)); is && near.After(first) && !near.After(now) {
			first = near
			break
		}
	}
	for {
		next, is := s.Next(first)
		if !is || next.After(now) {
			return first, true
		}
		first = next
	}
}

// decodeSchedule reads one schedule. Faults are a [LoadErrors].
func decodeSchedule(file string, data []byte) (Schedule, error) {
	r := &reading{path: file}
	s := Schedule{ID: strings.TrimSuffix(path.Base(file), ".yaml"), Enabled: true}
	root, ok := r.root(data)
	if !ok {
		return Schedule{}, r.err()
	}
	if !ValidID(s.ID) {
		r.fault(Position{}, "is no name of a schedule; write a lower-case letter, then at most 39 lower-case letters, digits or dashes, and .yaml")
	}
	zone := time.UTC
	var cronAt Position
	r.object(root,
		must("cron", func(v value) { s.Cron, cronAt = r.cron(v), r.begin(v.node) }),
		must("timezone", func(v value) { s.Zone, zone = r.zone(v) }),
		must("prompt", func(v value) { s.Prompt, _ = r.text(v, maxPrompt) }),
		may("enabled", func(v value) { s.Enabled = r.boolean(v) }),
		may("session", func(v value) { s.Session = r.session(v) }),
	)
	if err := r.err(); err != nil {
		return Schedule{}, err
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(s.Cron)
	fields, is := parsed.(*cron.SpecSchedule)
	if err != nil || !is {
		r.fault(cronAt, "cron is %s, which cannot be read: %v; write minute, hour, day of month, month and day of week, as in 0 7 * * 1-5", quote(s.Cron), err)
		return Schedule{}, r.err()
	}
	fields.Location = zone
	s.fields, s.fixed = fields, !strings.HasPrefix(strings.Fields(s.Cron)[1], "*")
	if _, is := s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)); !is {
		r.fault(cronAt, "cron is %s, which no day ever is", quote(s.Cron))
		return Schedule{}, r.err()
	}
	return s, nil
}

// cron is five fields in one spelling. A zone in it, or a name such as @daily, is refused: the zone stands in a key of its
// own.
func (r *reading) cron(v value) string {
	s, ok := r.text(v, maxCron)
	if !ok {
		return ""
	}
	fields := strings.Fields(s)
	if len(fields) != 5 || strings.ContainsAny(s, "@=\n\t") {
		r.fault(r.begin(v.node), "%s is %s; write five fields: minute, hour, day of month, month and day of week, as in 0 7 * * 1-5", v.name, quote(s))
		return ""
	}
	return strings.Join(fields, " ")
}

// zone is a time zone by its IANA name. Local is none: what it is depends on the machine.
func (r *reading) zone(v value) (string, *time.Location) {
	s, ok := r.text(v, 64)
	if !ok {
		return "", time.UTC
	}
	zone, err := time.LoadLocation(s)
	if err != nil || strings.EqualFold(s, "local") {
		r.fault(r.begin(v.node), "%s is %s, which is no time zone; write an IANA name, as in Europe/Amsterdam or UTC", v.name, quote(s))
		return "", time.UTC
	}
	return s, zone
}

func (r *reading) session(v value) string {
	s, ok := r.text(v, 64)
	switch {
	case !ok || s == "fresh":
		return ""
	case !ValidID(s):
		r.fault(r.begin(v.node), "%s is %s; write fresh for a session of each run's own, or a name such as news for one that all runs share", v.name, quote(s))
		return ""
	}
	return s
}

// readSchedules reads the schedules of a tree in the order of their names.
func (l *loaded) readSchedules(at string) (faults LoadErrors) {
	folder := path.Join(SurfaceFolder, ScheduleFolder) + "/"
	for _, name := range l.files.names() {
		below, is := strings.CutPrefix(name, folder)
		if !is {
			continue
		}
		file := path.Join(at, name)
		switch {
		case strings.Contains(below, "/") || path.Ext(below) != ".yaml":
			faults = append(faults, &LoadError{Path: file, Sentence: "does not belong there; " + folder + " has one .yaml file for each schedule"})
			continue
		case len(l.schedules) == MaxSchedules:
			return append(faults, &LoadError{Path: path.Join(at, folder), Sentence: fmt.Sprintf("has more than %d schedules", MaxSchedules)})
		}
		s, err := decodeSchedule(file, l.files[name])
		if err != nil {
			faults = append(faults, Faults(err)...)
			continue
		}
		l.schedules = append(l.schedules, s)
	}
	return faults
}

// Schedules are the core's schedules in the order of their names, those that are not enabled too.
func (c Core) Schedules() []Schedule { return slices.Clone(c.get().schedules) }
