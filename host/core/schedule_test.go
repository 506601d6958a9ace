package core

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func schedule(t testing.TB, cron, zone string) Schedule {
	t.Helper()
	s, err := decodeSchedule("cores/a/agent/schedules/daily.yaml", []byte("cron: '"+cron+"'\ntimezone: "+zone+"\nprompt: go\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The times of a few days around the changes of clocks. In Amsterdam it is 02:00 to 03:00 twice on 2026-10-25 and never on
// 2026-03-29; in Apia there was no 2011-12-30; in Cairo and Beirut
// clocks jump from midnight to one.
func TestClocksThatAreChanged(t *testing.T) {
	for name, c := range map[string]struct {
		cron, zone, from string
		want             []string
	}{
		"left out, at the jump":     {"30 2 * * *", "Europe/Amsterdam", "2026-03-28T00:00:00Z", []string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		"several left out are once": {"0,20,40 2 * * *", "Europe/Amsterdam", "2026-03-29T00:00:00Z", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		"the jump's own time":       {"0 2,3 * * *", "Europe/Amsterdam", "2026-03-29T00:00:00Z", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		"twice, at the first":       {"30 2 * * *", "Europe/Amsterdam", "2026-10-24T12:00:00Z", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		"an hour left out":          {"0 * * * *", "Europe/Amsterdam", "2026-03-29T00:30:00Z", []string{"2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"}},
		"an hour twice":             {"0 * * * *", "Europe/Amsterdam", "2026-10-24T23:30:00Z", []string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"}},
		"every half hour":           {"*/30 */1 * * *", "Europe/Amsterdam", "2026-10-25T00:45:00Z", []string{"2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00"}},
		"a Friday has no midnight":  {"0 * * * 5", "Africa/Cairo", "2026-04-23T12:00:00Z", []string{"2026-04-24T01:00:00+03:00", "2026-04-24T02:00:00+03:00"}},
		"that day alone":            {"0 * 29 3 *", "Asia/Beirut", "2026-03-01T00:00:00Z", []string{"2026-03-29T01:00:00+03:00", "2026-03-29T02:00:00+03:00"}},
		"no midnight, hour named":   {"0 0 * * 5", "Africa/Cairo", "2026-04-23T12:00:00Z", []string{"2026-04-24T01:00:00+03:00", "2026-05-01T00:00:00+03:00"}},
		"past half an hour":         {"0 * * * *", "Australia/Lord_Howe", "2026-10-03T14:45:00Z", []string{"2026-10-04T03:00:00+11:00", "2026-10-04T04:00:00+11:00"}},
		"half an hour":              {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		"a day left out":            {"0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", []string{"2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"}},
		"no clock is changed":       {"30 2 * * *", "UTC", "2026-03-29T00:00:00Z", []string{"2026-03-29T02:30:00Z", "2026-03-30T02:30:00Z"}},
		"a leap day":                {"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		"Monday to Friday":          {"0 7 * * 1-5", "America/New_York", "2026-12-04T15:00:00Z", []string{"2026-12-07T07:00:00-05:00"}},
	} {
		s, from := schedule(t, c.cron, c.zone), at(t, c.from)
		for _, want := range c.want {
			got, is := s.Next(from)
			if !is || !got.Equal(at(t, want)) {
				t.Errorf("%s: after %s comes %s, want %s", name, from, got, want)
			}
			from = got
		}
	}
}

// Whatever the schedule and the gap, what was missed comes to the last time of all that were due, and no time is passed over.
func TestWhatWasMissedIsTheLastOfAllThatWereDue(t *testing.T) {
	zones := []string{"UTC", "Europe/Amsterdam", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo"}
	crons := []string{"* * * * *", "*/7 * * * *", "30 2 * * *", "0 */3 * * *", "15 1,2,3 * * *", "0 0 1 * *", "5 4 * * 0", "59 23 31 12 *"}
	rapid.Check(t, func(rt *rapid.T) {
		s := schedule(t, rapid.SampledFrom(crons).Draw(rt, "cron"), rapid.SampledFrom(zones).Draw(rt, "zone"))
		after := time.Unix(1_774_000_000+rapid.Int64Range(0, 30_000_000).Draw(rt, "after"), 0)
		now := after.Add(time.Duration(rapid.Int64Range(0, 400_000).Draw(rt, "gap")) * time.Second)
		var last time.Time
		for next, is := s.Next(after); is && !next.After(now); next, is = s.Next(next) {
			if !next.After(last) || next.Second() != 0 {
				rt.Fatalf("%s after %s", next, last)
			}
			last = next
		}
		got, is := s.Latest(after, now)
		if is != !last.IsZero() || is && !got.Equal(last) {
			rt.Fatalf("latest %s, %v; the last one is %s", got, is, last)
		}
	})
}

func TestSchedulesThatAreRefused(t *testing.T) {
	const good = "cron: '0 7 * * *'\ntimezone: UTC\nprompt: go\n"
	for name, c := range map[string]struct{ text, want string }{
		"no zone":         {strings.Replace(good, "timezone: UTC\n", "", 1), "timezone"},
		"unknown zone":    {strings.Replace(good, "UTC", "Europe/Atlantis", 1), ":2:11: timezone is \"Europe/Atlantis\", which is no time zone"},
		"the machine's":   {strings.Replace(good, "UTC", "Local", 1), "no time zone"},
		"a path":          {strings.Replace(good, "UTC", "../../etc/passwd", 1), "no time zone"},
		"six fields":      {strings.Replace(good, "0 7", "0 0 7", 1), ":1:7: cron is \"0 0 7 * * *\"; write five fields"},
		"a name":          {strings.Replace(good, "0 7 * * *", "@daily", 1), "five fields"},
		"a zone in cron":  {strings.Replace(good, "0 7 * * *", "TZ=UTC 7 * * *", 1), "five fields"},
		"minute 60":       {strings.Replace(good, "0 7", "60 7", 1), "cannot be read"},
		"30 February":     {strings.Replace(good, "0 7 * *", "0 7 30 2", 1), "no day ever is"},
		"no prompt":       {strings.Replace(good, "prompt: go\n", "", 1), "prompt"},
		"a long prompt":   {good + "enabled: true\n" + "session: " + strings.Repeat("x", 70) + "\n", "session"},
		"an unknown key":  {good + "every: day\n", "unknown key \"every\""},
		"enabled as text": {good + "enabled: 'yes'\n", "true or false"},
		"a bad session":   {good + "session: My News\n", "write fresh"},
	} {
		_, err := decodeSchedule("cores/a/agent/schedules/daily.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decodeSchedule("cores/a/agent/schedules/Daily.yaml", []byte(good)); err == nil || !strings.Contains(err.Error(), "no name of a schedule") {
		t.Errorf("a wrong name: %v", err)
	}
	s, err := decodeSchedule("cores/a/agent/schedules/daily.yaml", []byte(good+"session: fresh\nenabled: false\n"))
	if err != nil || s.ID != "daily" || s.Session != "" || s.Enabled || s.Prompt != "go" {
		t.Errorf("%+v, %v", s, err)
	}
}

// An accepted schedule is due at some time, is read the same from another spelling, and its next time is behind the one
// before; a refused one says where.
func FuzzSchedule(f *testing.F) {
	f.Add("cron: '0 7 * * *'\ntimezone: Europe/Amsterdam\nprompt: go\n")
	f.Add("{cron: '*/5 1-3 * 1,2 MON', timezone: UTC, prompt: x, enabled: false, session: news}")
	f.Add("cron: [1]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := decodeSchedule("cores/a/agent/schedules/daily.yaml", []byte(text))
		if err != nil {
			if len(Faults(err)) == 0 {
				t.Fatalf("a fault without a place: %v", err)
			}
			return
		}
		from := at(t, "2026-03-28T00:00:00Z")
		first, is := s.Next(from)
		second, more := s.Next(first)
		if !is || !first.After(from) || more && !second.After(first) || first.Second() != 0 {
			t.Fatalf("%q: %s, %s", s.Cron, first, second)
		}
		again, err := decodeSchedule("cores/a/agent/schedules/daily.yaml", rewrite(t, object{
			"cron": s.Cron, "timezone": s.Zone, "prompt": s.Prompt, "enabled": s.Enabled, "session": sessionWord(s.Session),
		}))
		if err != nil || again.Digest() != s.Digest() || again.Prompt != s.Prompt || again.Session != s.Session {
			t.Fatalf("%q, read again: %+v, %v", text, again, err)
		}
	})
}

func sessionWord(s string) string {
	if s == "" {
		return "fresh"
	}
	return s
}
