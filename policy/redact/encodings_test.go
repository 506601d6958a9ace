package redact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
)

// encodings are the ways in which a value may come back, by name.
func encodings() map[string]func(string) string {
	all := map[string]func(string) string{}
	for _, e := range redacttest.All() {
		all[e.Name] = e.Encode
	}
	return all
}

// values are secrets of the kinds that break encoders: plain, with everything that is ever escaped, with spaces and
// letters outside ASCII, one that itself looks escaped, and one of several lines.
func values() map[string]string {
	return map[string]string{
		"plain":     "tok4f9a8b7c6d5e4f3a2b1cZQ",
		"symbols":   `aB3"dE'f&g<h>i/j\k=l+m%n;o`,
		"accents":   "p\u00e4ss w\u00f6rd \u65e5\u672c 42\u20ac!",
		"escaped":   `q%41\n&amp;=3Dz%7B\u0041w'\''e`,
		"short":     "zX9#qL2$",
		"two lines": "first-line-of-the-secret-01\nsecond-line-of-the-secret-02",
	}
}

func known(t testing.TB, value string) redact.Set {
	t.Helper()
	set, err := redact.Set{}.With(redact.NewSecret("PLANTED", value))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func build(t testing.TB, set redact.Set, raw redact.Raw) redact.Views {
	t.Helper()
	v, err := redact.Build(set, redact.DefaultBounds(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var everyone = []redact.Audience{redact.ForModel, redact.ForOperator, redact.ForEvent, redact.ForDurable, redact.ForDebug}

// inside is everything that a reader of a view can see: its text and, if it is JSON, every decoded string in it.
func inside(t testing.TB, v redact.View) string {
	t.Helper()
	all := []string{v.String()}
	if v.IsJSON() {
		var value any
		if err := json.Unmarshal([]byte(v.String()), &value); err != nil {
			t.Fatalf("a view is not JSON: %v in %q", err, v)
		}
		var walk func(any)
		walk = func(x any) {
			switch x := x.(type) {
			case string:
				all = append(all, x)
			case []any:
				for _, e := range x {
					walk(e)
				}
			case map[string]any:
				for k, e := range x {
					all = append(all, k)
					walk(e)
				}
			}
		}
		walk(value)
	}
	return strings.Join(all, "\n")
}

func jsonOf(t testing.TB, v any) redact.Raw {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return redact.JSON(raw)
}

// TestPlantedSecretAppearsInNoView plants each value in each encoding at each place of a text and of a JSON result.
func TestPlantedSecretAppearsInNoView(t *testing.T) {
	places := map[string]func(string) redact.Raw{
		"text alone":   redact.Text,
		"text, middle": func(s string) redact.Raw { return redact.Text("before it\n" + s + "\nafter it") },
		"text, glued":  func(s string) redact.Raw { return redact.Text("path/to/x" + s + ".txt") },
		"json string":  func(s string) redact.Raw { return jsonOf(t, s) },
		"json member": func(s string) redact.Raw {
			return jsonOf(t, map[string]any{"n": 1, "out": "got " + s + " here", "z": nil})
		},
		"json name":      func(s string) redact.Raw { return jsonOf(t, map[string]any{s: true, "b": s}) },
		"json, in depth": func(s string) redact.Raw { return jsonOf(t, []any{[]any{map[string]any{"l": []any{"a", s, "b"}}}}) },
	}
	cases := 0
	for kind, value := range values() {
		set := known(t, value)
		for encoding, encode := range encodings() {
			planted, unplanted := encode(value), redacttest.Others(encode, value)
			for place, plant := range places {
				if strings.HasPrefix(place, "json") && !utf8.ValidString(planted) {
					continue // JSON cannot carry it
				}
				views := build(t, set, plant(planted))
				for _, a := range everyone {
					cases++
					if got := redacttest.Leak(inside(t, views.View(a)), planted, unplanted); got != "" {
						t.Errorf("%s value, %s, %s: the %s view shows %q:\n%q", kind, encoding, place, a, got, views.View(a))
					}
				}
				if len(views.Found) == 0 {
					t.Errorf("%s value, %s, %s: nothing was found", kind, encoding, place)
				}
			}
		}
	}
	if cases < 5000 {
		t.Fatalf("only %d cases", cases)
	}
}

// TestWhatStandsBeforeARunMovesNothing glues letters and digits before base64 and hex, so that the groups of the run
// begin at every place that they can.
func TestWhatStandsBeforeARunMovesNothing(t *testing.T) {
	value := values()["plain"]
	set := known(t, value)
	for _, encoding := range []string{"base64, both", "base64 alignment 1, both", "base64 alignment 2, both", "hex"} {
		planted := encodings()[encoding](value)
		for n := range 9 {
			for _, before := range []string{strings.Repeat("f", n), strings.Repeat("/", n)} {
				if got := set.Text(redact.ForModel, "at "+before+planted); redacttest.Leak(got, planted, "") != "" {
					t.Errorf("%s behind %q: %q", encoding, before, got)
				}
			}
		}
	}
}

// TestWithoutTheSetTheSecretIsThere shows that the test above can fail: nothing else than the Set removes the value.
func TestWithoutTheSetTheSecretIsThere(t *testing.T) {
	for encoding, encode := range encodings() {
		if encoding == "jwt payload" {
			continue // a shape of its own
		}
		planted := encode(values()["plain"])
		if v := build(t, redact.Set{}, redact.Text("a "+planted+" b")); redacttest.Leak(v.Model.String(), planted, "") == "" {
			t.Errorf("%s: the value is gone without a Set: %q", encoding, v.Model)
		}
	}
}
