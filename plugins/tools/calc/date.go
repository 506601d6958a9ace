package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/sdk"
)

// maxShift bounds one shift in its own unit: no date within years 1 to 9999 is
// further than that in seconds from another.
const maxShift = 400_000_000_000

// DateIn is a date, what to add to it and what to compare the sum with.
type DateIn struct {
	Date    string `json:"date" desc:"Where to start: YYYY-MM-DD, an RFC 3339 time such as 2026-03-01T09:30:00+02:00, today, or now." minLength:"1" maxLength:"64"`
	Years   int64  `json:"years,omitempty" desc:"Years to add; negative to subtract. A day that the month does not have becomes its last day." minimum:"-9999" maximum:"9999"`
	Months  int64  `json:"months,omitempty" desc:"Months to add, as for years." minimum:"-120000" maximum:"120000"`
	Weeks   int64  `json:"weeks,omitempty" desc:"Weeks to add." minimum:"-600000" maximum:"600000"`
	Days    int64  `json:"days,omitempty" desc:"Days to add, each 24 hours." minimum:"-4000000" maximum:"4000000"`
	Hours   int64  `json:"hours,omitempty" desc:"Hours to add." minimum:"-100000000" maximum:"100000000"`
	Minutes int64  `json:"minutes,omitempty" desc:"Minutes to add." minimum:"-6000000000" maximum:"6000000000"`
	Seconds int64  `json:"seconds,omitempty" desc:"Seconds to add." minimum:"-400000000000" maximum:"400000000000"`
	Until   string `json:"until,omitempty" desc:"A second date in the same forms. The answer then has the difference from the first date, after the additions, to this one." maxLength:"64"`
	Offset  string `json:"offset,omitempty" desc:"Fixed offset from UTC for the answer and for today, such as +02:00 or Z. Time zones by name are not known." maxLength:"6"`
}

// DateOut is the date reached and, when asked for, the way to another.
type DateOut struct {
	Date       string      `json:"date" desc:"YYYY-MM-DD when only dates were given, otherwise an RFC 3339 time."`
	Weekday    string      `json:"weekday"`
	Week       string      `json:"week" desc:"ISO 8601 week, such as 2026-W09."`
	DayOfYear  int         `json:"day_of_year"`
	Unix       int64       `json:"unix" desc:"Seconds since 1970-01-01 UTC."`
	Difference *Difference `json:"difference,omitempty"`
}

// Difference is the way from one date to another in three measures. All parts
// have the sign of the whole.
type Difference struct {
	TotalDays    int64  `json:"total_days" desc:"Whole days of 24 hours."`
	TotalSeconds int64  `json:"total_seconds"`
	Calendar     string `json:"calendar" desc:"The same in calendar units, such as 1 year 2 months 3 days."`
}

// Date adds to a date, finds its weekday and measures the way to another date.
// Units are added from the largest to the smallest: years and months together,
// then weeks and days, then the clock. It knows UTC and fixed offsets; without
// zones by name there is no daylight saving, so a day is 24 hours. Dates outside
// the years 1 to 9999 are the fault invalid.
func Date(_ context.Context, in DateIn, h sdk.Host) (DateOut, error) {
	zone, err := parseOffset(in.Offset)
	if err != nil {
		return DateOut{}, err
	}
	start, err := parseDate(in.Date, zone, h)
	if err != nil {
		return DateOut{}, err
	}
	end, err := in.shift(start)
	if err != nil {
		return DateOut{}, err
	}
	if zone != nil && !end.whole {
		end.Time = end.In(zone)
		if err := inYears(end.Time); err != nil {
			return DateOut{}, err
		}
	}
	year, week := end.ISOWeek()
	out := DateOut{
		Date: end.text(), Weekday: end.Weekday().String(), Week: fmt.Sprintf("%04d-W%02d", year, week),
		DayOfYear: end.YearDay(), Unix: end.Unix(),
	}
	if in.Until != "" {
		until, err := parseDate(in.Until, zone, h)
		if err != nil {
			return DateOut{}, err
		}
		to := until.In(end.Location())
		if err := inYears(to); err != nil {
			return DateOut{}, err
		}
		out.Difference = difference(end.Time, to)
	}
	return out, nil
}

// moment is a time, or a whole day when nobody gave an hour.
type moment struct {
	time.Time
	whole bool
}

func (m moment) text() string {
	if m.whole {
		return m.Format(time.DateOnly)
	}
	return m.Format(time.RFC3339Nano)
}

// parseDate reads one of the four forms. A whole day begins at midnight of zone,
// or of UTC without one.
func parseDate(s string, zone *time.Location, h sdk.Host) (moment, error) {
	if zone == nil {
		zone = time.UTC
	}
	switch strings.ToLower(s) {
	case "now":
		return moment{Time: h.Now().In(zone)}, nil
	case "today":
		y, m, d := h.Now().In(zone).Date()
		return moment{Time: time.Date(y, m, d, 0, 0, 0, 0, zone), whole: true}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return moment{Time: t, whole: true}, inYears(t)
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	if err != nil {
		return moment{}, sdk.Errorf(sdk.Invalid, "%q is no date; write YYYY-MM-DD, a time such as 2026-03-01T09:30:00Z, today, or now", clip(s))
	}
	_, offset := t.Zone() // never the zone of the machine, which Parse may choose
	t = t.In(fixed(offset))
	return moment{Time: t}, inYears(t)
}

// parseOffset reads Z or ±HH:MM; an empty text is no offset at all.
func parseOffset(s string) (*time.Location, error) {
	switch s {
	case "":
		return nil, nil
	case "Z", "z", "UTC":
		return time.UTC, nil
	}
	t, err := time.Parse("-07:00", s)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "offset %q is not Z or of the form +02:00; time zones by name are not known, give their offset on that day", clip(s))
	}
	_, seconds := t.Zone()
	return fixed(seconds), nil
}

func fixed(seconds int) *time.Location {
	if seconds == 0 {
		return time.UTC
	}
	return time.FixedZone("", seconds)
}

// inYears refuses what the four-digit forms cannot say.
func inYears(t time.Time) error {
	if y := t.Year(); y < 1 || y > 9999 {
		return sdk.Errorf(sdk.Invalid, "the date is outside the years 1 to 9999")
	}
	return nil
}
