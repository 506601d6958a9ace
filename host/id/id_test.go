package id_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
)

func source() *id.Source {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return id.NewSource(func() time.Time { return at }, rand.Reader)
}

func TestIDsOfOneMillisecondSortInOrderOfMaking(t *testing.T) {
	src := source()
	var made []string
	for range 1000 {
		made = append(made, string(src.Turn()))
	}
	if !slices.IsSorted(made) {
		t.Fatal("turn ids of one millisecond are out of order")
	}
	slices.Sort(made)
	if n := len(slices.Compact(made)); n != 1000 {
		t.Fatalf("%d distinct ids of 1000", n)
	}
}

func TestParseRefusesEveryOtherSpelling(t *testing.T) {
	good := string(source().Session())
	if got, err := id.ParseSession(good); err != nil || string(got) != good {
		t.Fatalf("ParseSession(%q) = %q, %v", good, got, err)
	}
	for name, text := range map[string]string{
		"empty":        "",
		"wrong kind":   string(source().Turn()),
		"uppercase":    strings.ToUpper(good),
		"short":        good[:len(good)-1],
		"long":         good + "0",
		"letter I":     good[:len(good)-1] + "i",
		"space":        " " + good,
		"over 128 bit": "ses_8zzzzzzzzzzzzzzzzzzzzzzzzz",
	} {
		var bad *id.MalformedError
		if _, err := id.ParseSession(text); !errors.As(err, &bad) || bad.Kind != "session" {
			t.Errorf("%s: ParseSession(%q) gave %v", name, text, err)
		}
	}
}

func TestApprovalIDFitsAChatButton(t *testing.T) {
	if n := len(source().Approval()); n > 32 {
		t.Fatalf("approval id has %d bytes, a button carries 32", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(source().Session()))
	f.Add("ses_")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := id.ParseSession(text)
		if err == nil && string(got) != text {
			t.Fatalf("accepted %q but returned %q", text, got)
		}
		if err == nil && len(text) != len("ses_")+26 {
			t.Fatalf("accepted %q of %d bytes", text, len(text))
		}
	})
}

func TestRequestKeysAreBounded(t *testing.T) {
	for text, ok := range map[string]bool{"a": true, "order-17/3": true, "": false, "a b": false, "a\n": false, "ü": false, strings.Repeat("k", 201): false, strings.Repeat("k", 200): true} {
		if _, err := id.ParseRequest(text); (err == nil) != ok {
			t.Errorf("ParseRequest(%.10q...) accepted=%v, want %v", text, err == nil, ok)
		}
	}
}

// A text that is no id is told whole or by its length: a part of a secret could not be hidden any more.
func TestWhatIsNoIDIsNotToldInPart(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for before := range 120 {
		text := strings.Repeat("x", before) + secret
		_, session := id.ParseSession(text)
		_, request := id.ParseRequest(text + "\n")
		for _, err := range []error{session, request} {
			if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), secret, ""), secret[:3]) {
				t.Fatal(err)
			}
		}
	}
}

func TestDecisionsSinceATimeBeginAtIt(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		by    time.Duration
		since bool
	}{{-time.Hour, false}, {-time.Millisecond, false}, {0, true}, {time.Millisecond, true}, {time.Hour, true}} {
		made := id.NewSource(func() time.Time { return at.Add(c.by) }, rand.Reader).Decision()
		if got := made >= id.DecisionsSince(at); got != c.since {
			t.Errorf("one made %s after it is since then: %v", c.by, got)
		}
	}
	for _, odd := range []time.Time{{}, time.UnixMilli(1 << 62)} {
		if got := id.DecisionsSince(odd); len(got) != len(id.DecisionsSince(at)) || (got < id.DecisionsSince(at)) != odd.IsZero() {
			t.Errorf("since %s is %q", odd, got)
		}
	}
}
