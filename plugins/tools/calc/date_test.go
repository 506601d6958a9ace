package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
)

func quoted(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDateAdds(t *testing.T) {
	p := plugintest.New(t).At(time.Date(2026, 3, 1, 22, 30, 0, 0, time.UTC))
	for _, c := range []struct {
		in            DateIn
		date, weekday string
	}{
		{DateIn{Date: "2026-01-31", Months: 1}, "2026-02-28", "Saturday"},
		{DateIn{Date: "2024-01-31", Months: 1}, "2024-02-29", "Thursday"},
		{DateIn{Date: "2024-02-29", Years: 1}, "2025-02-28", "Friday"},
		{DateIn{Date: "2026-03-31", Months: -1}, "2026-02-28", "Saturday"},
		{DateIn{Date: "2026-01-15", Months: -13}, "2024-12-15", "Sunday"},
		{DateIn{Date: "2026-12-31", Days: 1}, "2027-01-01", "Friday"},
		{DateIn{Date: "2026-03-01", Weeks: -1, Days: -1}, "2026-02-21", "Saturday"},
		{DateIn{Date: "2026-03-01", Hours: 36}, "2026-03-02T12:00:00Z", "Monday"},
		{DateIn{Date: "2026-03-01T09:30:00+02:00", Minutes: 45}, "2026-03-01T10:15:00+02:00", "Sunday"},
		{DateIn{Date: "2026-03-01T09:30:00+02:00", Offset: "Z"}, "2026-03-01T07:30:00Z", "Sunday"},
		{DateIn{Date: "2026-03-01t01:00:00z", Offset: "-05:30"}, "2026-02-28T19:30:00-05:30", "Saturday"},
		{DateIn{Date: "now"}, "2026-03-01T22:30:00Z", "Sunday"},
		{DateIn{Date: "Today"}, "2026-03-01", "Sunday"},
		{DateIn{Date: "today", Offset: "+02:00"}, "2026-03-02", "Monday"},
		{DateIn{Date: "2026-03-01T00:00:00.25Z", Seconds: -1}, "2026-02-28T23:59:59.25Z", "Saturday"},
		{DateIn{Date: "0001-01-01", Days: 3652058}, "9999-12-31", "Friday"},
	} {
		out := plugintest.Call[DateOut](t, p, "calc.date", c.in)
		if out.Date != c.date || out.Weekday != c.weekday {
			t.Errorf("%+v gave %s, a %s; want %s, a %s", c.in, out.Date, out.Weekday, c.date, c.weekday)
		}
	}
	out := plugintest.Call[DateOut](t, p, "calc.date", DateIn{Date: "2027-01-03"})
	if out.Week != "2026-W53" || out.DayOfYear != 3 || out.Unix != 1798934400 {
		t.Errorf("3 January 2027 is %+v", out)
	}
}

func TestDateMeasures(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct {
		in   DateIn
		want Difference
	}{
		{DateIn{Date: "2024-02-29", Until: "2025-02-28"}, Difference{365, 365 * 86400, "1 year"}},
		{DateIn{Date: "2026-01-31", Until: "2026-03-01"}, Difference{29, 29 * 86400, "1 month 1 day"}},
		{DateIn{Date: "2026-03-01", Until: "2026-01-31"}, Difference{-29, -29 * 86400, "-1 month -1 day"}},
		{DateIn{Date: "2026-03-01", Until: "2026-03-01"}, Difference{0, 0, "none"}},
		{DateIn{Date: "2026-03-01T10:00:00+02:00", Until: "2026-03-01T10:00:00Z"}, Difference{0, 7200, "2 hours"}},
		{DateIn{Date: "2026-03-01", Days: 1, Until: "2026-03-03T01:01:01Z"}, Difference{1, 90061, "1 day 1 hour 1 minute 1 second"}},
		{DateIn{Date: "2026-03-01T00:00:00.9Z", Until: "2026-03-01T00:00:02.1Z"}, Difference{0, 1, "1 second"}},
		{DateIn{Date: "0001-01-01", Until: "9999-12-31"}, Difference{3652058, 3652058 * 86400, "9998 years 11 months 30 days"}},
	} {
		out := plugintest.Call[DateOut](t, p, "calc.date", c.in)
		if out.Difference == nil || *out.Difference != c.want {
			t.Errorf("%+v gave %+v, want %+v", c.in, out.Difference, c.want)
		}
	}
}

func TestDateRefuses(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct {
		in   DateIn
		says string
	}{
		{DateIn{Date: "2026-02-30"}, "no date"},
		{DateIn{Date: "01.03.2026"}, "YYYY-MM-DD"},
		{DateIn{Date: "2026-03-01T10:00:00"}, "no date"},
		{DateIn{Date: "tomorrow"}, "no date"},
		{DateIn{Date: "2026-03-01", Until: "soon"}, "no date"},
		{DateIn{Date: "2026-03-01", Offset: "CET"}, "by name"},
		{DateIn{Date: "2026-03-01", Offset: "+99:00"}, "offset"},
		{DateIn{Date: "0000-12-31"}, "years 1 to 9999"},
		{DateIn{Date: "9999-12-31", Days: 1}, "years 1 to 9999"},
		{DateIn{Date: "0001-01-01", Months: -1}, "years 1 to 9999"},
		{DateIn{Date: "9999-12-31T23:00:00Z", Offset: "+02:00"}, "years 1 to 9999"},
		{DateIn{Date: "0001-01-01T00:00:00Z", Until: "9999-12-31T23:30:00-01:00"}, "years 1 to 9999"},
	} {
		f := p.Fault(t, "calc.date", quoted(t, c.in))
		if f.Code != sdk.Invalid || !strings.Contains(f.Message, c.says) {
			t.Errorf("%+v gave %s %q, want invalid with %q", c.in, f.Code, f.Message, c.says)
		}
	}
	for _, args := range []string{`{}`, `{"date":"2026-01-01","days":4000001}`, `{"date":"2026-01-01","days":1.5}`, `{"date":"2026-01-01","day":1}`} {
		if f := p.Fault(t, "calc.date", args); f.Code != sdk.Invalid {
			t.Errorf("%s gave %v, want invalid", args, f)
		}
	}
	// Without the schema the sums would pass 64 bits.
	if _, err := (DateIn{Weeks: 1 << 62}).shift(moment{}); err == nil {
		t.Error("a shift that cannot be computed was accepted")
	}
}

// Adding what was measured arrives where it was measured to.
func TestDifferenceLeadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-62135596800, 253402300799)
		a := time.Unix(seconds.Draw(t, "a"), 0).UTC()
		b := time.Unix(seconds.Draw(t, "b"), 0).UTC()
		if b.Before(a) {
			a, b = b, a
		}
		d := difference(a, b)
		if got := a.Unix() + d.TotalSeconds; got != b.Unix() {
			t.Fatalf("%d seconds from %s lead to %d, not %d", d.TotalSeconds, a, got, b.Unix())
		}
		in := parseCalendar(t, d.Calendar)
		end, err := in.shift(moment{Time: a})
		if err != nil || !end.Equal(b) {
			t.Fatalf("%s from %s lead to %s (%v), not %s", d.Calendar, a, end, err, b)
		}
	})
}

// parseCalendar reads "1 year 2 days" back into additions.
func parseCalendar(t *rapid.T, text string) (in DateIn) {
	if text == "none" {
		return in
	}
	words := strings.Fields(text)
	for i := 0; i < len(words); i += 2 {
		var n int64
		if err := json.Unmarshal([]byte(words[i]), &n); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		to := map[string]*int64{
			"year": &in.Years, "month": &in.Months, "day": &in.Days,
			"hour": &in.Hours, "minute": &in.Minutes, "second": &in.Seconds,
		}[strings.TrimSuffix(words[i+1], "s")]
		if to == nil {
			t.Fatalf("%q has the unit %s", text, words[i+1])
		}
		*to = n
	}
	return in
}
