package redact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

func TestSecretsThatCannotBeRedactedAreRefused(t *testing.T) {
	good := redact.NewSecret("GOOD", "long-enough-1")
	for name, c := range map[string]struct {
		secret redact.Secret
		want   redact.Reason
	}{
		"short":           {redact.NewSecret("A", "1234567"), redact.TooShort},
		"short in runes":  {redact.NewSecret("A", "日本語日本語日"), redact.TooShort},
		"empty":           {redact.NewSecret("A", ""), redact.TooShort},
		"long":            {redact.NewSecret("A", strings.Repeat("ab1", 6000)), redact.TooLong},
		"blank":           {redact.NewSecret("A", " \t \n \r \t  "), redact.TooPlain},
		"one character":   {redact.NewSecret("A", "********"), redact.TooPlain},
		"two characters":  {redact.NewSecret("A", "abababababab"), redact.TooPlain},
		"no name":         {redact.NewSecret("", "long-enough-1"), redact.BadName},
		"name with angle": {redact.NewSecret("A>B", "long-enough-1"), redact.BadName},
		"long name":       {redact.NewSecret(strings.Repeat("A", 65), "long-enough-1"), redact.BadName},
	} {
		base := known(t, "another-value-2")
		set, err := base.With(good, c.secret)
		var refused *redact.RefusedError
		if !errors.As(err, &refused) || refused.Reason != c.want || c.secret.Check() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
			continue
		}
		if set.Len() != 1 {
			t.Errorf("%s: a refused list still changed the set to %v", name, set.Names())
		}
		if strings.Contains(err.Error(), "long-enough-1") || strings.Contains(err.Error(), "1234567") {
			t.Errorf("%s: the error shows the value", name)
		}
	}
	var many []redact.Secret
	for i := range redact.MaxSecrets {
		many = append(many, redact.NewSecret(fmt.Sprint("S", i), fmt.Sprint("value-number-", i)))
	}
	full, err := redact.Set{}.With(many...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := full.With(good); err == nil || !strings.Contains(err.Error(), "one too many") {
		t.Errorf("a full set took another: %v", err)
	}
	if again, err := full.With(redact.NewSecret("TWICE", "value-number-7")); err != nil || again.Len() != redact.MaxSecrets {
		t.Errorf("a known value is refused: %v", err)
	}
}

func TestSetIsImmutable(t *testing.T) {
	a := known(t, "value-of-a-1")
	b, err := a.With(redact.NewSecret("B", "value-of-b-2"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Len() != 1 || b.Len() != 2 || strings.Join(b.Names(), " ") != "PLANTED B" {
		t.Errorf("%v %v", a.Names(), b.Names())
	}
	if got := a.Text(redact.ForOperator, "value-of-b-2"); got != "value-of-b-2" {
		t.Errorf("the first set changed: %q", got)
	}
	if got := b.Text(redact.ForOperator, "value-of-a-1 value-of-b-2"); got != "<redacted:PLANTED> <redacted:B>" {
		t.Errorf("%q", got)
	}
}

// TestNothingPrintsAValue goes through every verb and marshaller that a log call could use.
func TestNothingPrintsAValue(t *testing.T) {
	s := redact.NewSecret("TOKEN", "swordfish-42")
	set := known(t, "swordfish-42")
	v := build(t, set, redact.Text("x swordfish-42"))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, x := range []any{
			s, &s, set, &set,
			[]redact.Secret{s},
			struct{ S redact.Secret }{s},
			v, &v, v.Set(),
			struct{ s redact.Secret }{s},
			struct{ s *redact.Set }{&set},
			map[string]redact.Secret{"k": s},
			redact.NewStream(set, redact.ForModel),
		} {
			if got := fmt.Sprintf(verb, x); strings.Contains(got, "swordfish") || strings.Contains(got, "73776f7264") {
				t.Errorf("%s of %T shows the value: %.200s", verb, x, got)
			}
		}
	}
	for _, x := range []any{s, set, v} {
		if raw, err := json.Marshal(x); err != nil || strings.Contains(string(raw), "swordfish") {
			t.Errorf("JSON of %T: %s, %v", x, raw, err)
		}
	}
	if s.Fingerprint() != "ac669c779cce1ee1" { // sha256sum
		t.Errorf("fingerprint %q", s.Fingerprint())
	}
}

func TestOverlappingSecretsLeaveNoTail(t *testing.T) {
	set, err := redact.Set{}.With(
		redact.NewSecret("SHORT", "abcd1234"),
		redact.NewSecret("LONG", "abcd1234efgh5678"),
		redact.NewSecret("TAIL", "gh5678-ijkl90"),
	)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"abcd1234":                  "<redacted:SHORT>",
		"abcd1234efgh5678":          "<redacted:LONG>",
		"abcd1234efgh5678-ijkl90":   "<redacted:LONG>",
		"abcd1234 abcd1234efgh5678": "<redacted:SHORT> <redacted:LONG>",
		"abcd1234abcd1234":          "<redacted:SHORT><redacted:SHORT>",
		"abcd123 abcd1234efgh567":   "abcd123 <redacted:SHORT>efgh567",
	} {
		if got := set.Text(redact.ForOperator, text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestLinesOfASecretAreSecrets(t *testing.T) {
	set := known(t, "-----BEGIN SOMETHING-----\nTm90IGEga2V5LCBidXQgYSBsaW5l\nc2Vjb25kIGxpbmUgb2YgaXQh\nshort\n-----END SOMETHING-----\n")
	got := set.Text(redact.ForOperator, "a c2Vjb25kIGxpbmUgb2YgaXQh b; short; -----BEGIN SOMETHING-----")
	if got != "a <redacted:PLANTED> b; short; -----BEGIN SOMETHING-----" {
		t.Errorf("%q", got)
	}
}
