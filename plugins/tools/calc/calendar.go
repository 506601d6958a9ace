package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/sdk"
)

// shift adds the units of in, largest first. A whole day becomes a time when a
// unit of the clock is added.
func (in DateIn) shift(from moment) (moment, error) {
	for _, n := range []int64{in.Years, in.Months, in.Weeks, in.Days, in.Hours, in.Minutes, in.Seconds} {
		if n < -maxShift || n > maxShift {
			return moment{}, sdk.Errorf(sdk.Invalid, "%d is more than any date can be moved", n)
		}
	}
	t, err := addMonths(from.Time, in.Years*12+in.Months)
	if err != nil {
		return moment{}, err
	}
	// Seconds since 1970 in 64 bits hold every sum of the bounded units, which
	// a time.Duration would not.
	seconds := (in.Weeks*7+in.Days)*86400 + in.Hours*3600 + in.Minutes*60 + in.Seconds
	t = time.Unix(t.Unix()+seconds, int64(t.Nanosecond())).In(t.Location())
	whole := from.whole && in.Hours == 0 && in.Minutes == 0 && in.Seconds == 0
	return moment{Time: t, whole: whole}, inYears(t)
}

// addMonths keeps the day of the month, or takes the last when there is no such
// day: 31 January and a month is 28 February, where time.AddDate says 3 March.
func addMonths(t time.Time, months int64) (time.Time, error) {
	y, m, d := t.Date()
	count := int64(y)*12 + int64(m) - 1 + months
	if count < 12 || count >= 10000*12 {
		return t, sdk.Errorf(sdk.Invalid, "the date is outside the years 1 to 9999")
	}
	year, month := int(count/12), time.Month(count%12+1)
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(year, month, min(d, last), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location()), nil
}

// difference measures the way from a to b, which have one location, fractions of
// a second cut off.
func difference(a, b time.Time) *Difference {
	sign := int64(1)
	if b.Before(a) {
		a, b, sign = b, a, -1
	}
	seconds := b.Unix() - a.Unix()
	if b.Nanosecond() < a.Nanosecond() {
		seconds--
	}
	return &Difference{
		TotalDays:    sign * (seconds / 86400),
		TotalSeconds: sign * seconds,
		Calendar:     calendar(a, b, sign),
	}
}

// calendar counts the most whole months from a that do not pass b, and the rest
// in days and clock units. a is not after b, and both have one location.
func calendar(a, b time.Time, sign int64) string {
	months := int64(b.Year()-a.Year())*12 + int64(b.Month()) - int64(a.Month())
	from, err := addMonths(a, months)
	if err != nil || from.After(b) {
		months--
		from, _ = addMonths(a, months) // not before a, so within range
	}
	rest := int64(b.Sub(from) / time.Second)
	var parts []string
	for _, u := range []struct {
		n    int64
		name string
	}{
		{months / 12, "year"},
		{months % 12, "month"},
		{rest / 86400, "day"},
		{rest / 3600 % 24, "hour"},
		{rest / 60 % 60, "minute"},
		{rest % 60, "second"},
	} {
		switch {
		case u.n == 1:
			parts = append(parts, strconv.FormatInt(sign, 10)+" "+u.name)
		case u.n != 0:
			parts = append(parts, strconv.FormatInt(sign*u.n, 10)+" "+u.name+"s")
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, " ")
}
