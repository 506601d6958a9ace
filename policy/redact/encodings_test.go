package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"mime/quotedprintable"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

// encodings are the ways in which a value may come back. The list is the encoders of common runners and shells, not
// of this package: nothing of the package is used here.
func encodings() map[string]func(string) string {
	std, raw := base64.StdEncoding, base64.RawStdEncoding
	urlp, urlr := base64.URLEncoding, base64.RawURLEncoding
	each := func(f func(byte) string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				b.WriteString(f(s[i]))
			}
			return b.String()
		}
	}
	runes := func(format string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, format, r)
			}
			return b.String()
		}
	}
	utf16Bytes := func(order binary.AppendByteOrder) func(string) string {
		return func(s string) string {
			var out []byte
			for _, u := range utf16.Encode([]rune(s)) {
				out = order.AppendUint16(out, u)
			}
			return string(out)
		}
	}
	mime := func(s string) string {
		text := std.EncodeToString([]byte(strings.Repeat("header line of a mail\n", 5) + s + strings.Repeat("\nmore text", 12)))
		var lines []string
		for len(text) > 76 {
			lines, text = append(lines, text[:76]), text[76:]
		}
		return strings.Join(append(lines, text), "\r\n")
	}
	back := func(s string) string {
		b := []byte(s)
		slices.Reverse(b)
		return string(b)
	}
	percent := each(func(c byte) string { return fmt.Sprintf("%%%02X", c) })
	return map[string]func(string) string{
		"raw":                     func(s string) string { return s },
		"base64":                  func(s string) string { return std.EncodeToString([]byte(s)) },
		"base64 alignment 1":      func(s string) string { return std.EncodeToString([]byte("x" + s)) },
		"base64 alignment 2":      func(s string) string { return std.EncodeToString([]byte("xx" + s)) },
		"base64 unpadded":         func(s string) string { return raw.EncodeToString([]byte("x" + s + "y")) },
		"base64url":               func(s string) string { return urlp.EncodeToString([]byte("xx" + s)) },
		"base64url unpadded":      func(s string) string { return urlr.EncodeToString([]byte(s)) },
		"base64 with newline":     func(s string) string { return std.EncodeToString([]byte(s + "\n")) },
		"base64 in 76 columns":    mime,
		"base64 twice":            func(s string) string { return std.EncodeToString([]byte(std.EncodeToString([]byte("x" + s)))) },
		"base64 twice, backwards": func(s string) string { return back(std.EncodeToString([]byte(std.EncodeToString([]byte(s))))) },
		"base64 of backwards":     func(s string) string { return std.EncodeToString([]byte(back(std.EncodeToString([]byte(s))))) },
		"backwards":               back,
		"basic auth pair":         func(s string) string { return std.EncodeToString([]byte("user:" + s)) },
		"jwt payload": func(s string) string {
			claims, _ := json.Marshal(map[string]string{"sub": "1", "note": s})
			return urlr.EncodeToString([]byte(`{"alg":"none"}`)) + "." + urlr.EncodeToString(claims) + "."
		},
		"hex":             func(s string) string { return hex.EncodeToString([]byte(s)) },
		"hex upper":       func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"hex 0x":          func(s string) string { return "0x" + hex.EncodeToString([]byte(s)) },
		"hex after digit": func(s string) string { return "7" + hex.EncodeToString([]byte(s)) },
		"hex colons": func(s string) string {
			return strings.TrimSuffix(each(func(c byte) string { return fmt.Sprintf("%02x:", c) })(s), ":")
		},
		"hex array": func(s string) string {
			return strings.TrimSuffix(each(func(c byte) string { return fmt.Sprintf("0x%02x, ", c) })(s), ", ")
		},
		"hex dump": func(s string) string {
			return strings.TrimSuffix(each(func(c byte) string { return fmt.Sprintf("%02x ", c) })(s), " ")
		},
		"C escapes":     each(func(c byte) string { return fmt.Sprintf(`\x%02x`, c) }),
		"octal escapes": each(func(c byte) string { return fmt.Sprintf(`\%03o`, c) }),
		"percent":       url.PathEscape,
		"percent lower": func(s string) string {
			return each(func(c byte) string {
				if c < 0x80 && (c|0x20 >= 'a' && c|0x20 <= 'z') {
					return string(rune(c))
				}
				return fmt.Sprintf("%%%02x", c)
			})(s)
		},
		"percent full":    percent,
		"percent twice":   func(s string) string { return url.QueryEscape(url.PathEscape(s)) },
		"percent full x3": func(s string) string { return url.PathEscape(url.PathEscape(percent(s))) },
		"form":            url.QueryEscape,
		"json":            func(s string) string { b, _ := json.Marshal(s); return string(b) },
		"json twice":      func(s string) string { b, _ := json.Marshal(s); b, _ = json.Marshal(string(b)); return string(b) },
		"json all escaped": func(s string) string {
			var b strings.Builder
			for _, u := range utf16.Encode([]rune(s)) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
			return b.String()
		},
		"rust escapes":    runes(`\u{%x}`),
		"python escapes":  runes(`\U%08x`),
		"go quoted":       strconv.Quote,
		"go quoted ascii": strconv.QuoteToASCII,
		"shell quoted":    func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"shell quoted 2":  func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" },
		"shell escaped": each(func(c byte) string {
			if c >= 0x80 || c == '\n' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
				return string([]byte{c})
			}
			return `\` + string(rune(c))
		}),
		"html":          html.EscapeString,
		"html decimal":  runes("&#%d;"),
		"html hex":      runes("&#x%X;"),
		"xml":           func(s string) string { var b bytes.Buffer; _ = xml.EscapeText(&b, []byte(s)); return b.String() },
		"utf-16le":      utf16Bytes(binary.LittleEndian),
		"utf-16be":      utf16Bytes(binary.BigEndian),
		"utf-16 base64": func(s string) string { return std.EncodeToString([]byte(utf16Bytes(binary.LittleEndian)(s))) },
		"quoted-printable": func(s string) string {
			var b bytes.Buffer
			w := quotedprintable.NewWriter(&b)
			_, _ = w.Write([]byte(strings.Repeat("filler ", 9) + s + " end"))
			_ = w.Close()
			return b.String()
		},
		"percent in base64": func(s string) string { return std.EncodeToString([]byte(percent(s))) },
		"base64 in percent": func(s string) string { return percent(std.EncodeToString([]byte(s))) },
	}
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

// others are texts that encode gives for other values, of the lengths that shift what stands behind a value in every
// way, to tell what of a planted text comes from the value itself.
func others(encode func(string) string, value string) string {
	var all []string
	for more := range 12 {
		all = append(all, encode(strings.Repeat("J", len(value)+more)))
	}
	return strings.Join(all, "\n")
}

// leak returns a part of planted that depends on the secret and still stands in view.
func leak(view, planted, unplanted string) string {
	const window = 8
	for i := 0; i+window <= len(planted); i++ {
		w := planted[i : i+window]
		if strings.Contains(view, w) && !strings.Contains(unplanted, w) {
			return w
		}
	}
	return ""
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
			planted, unplanted := encode(value), others(encode, value)
			for place, plant := range places {
				if strings.HasPrefix(place, "json") && !utf8.ValidString(planted) {
					continue // JSON cannot carry it
				}
				views := build(t, set, plant(planted))
				for _, a := range everyone {
					cases++
					if got := leak(inside(t, views.View(a)), planted, unplanted); got != "" {
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
	for _, encoding := range []string{"base64", "base64 alignment 1", "base64 alignment 2", "hex"} {
		planted := encodings()[encoding](value)
		for n := range 9 {
			for _, before := range []string{strings.Repeat("f", n), strings.Repeat("/", n)} {
				if got := set.Text(redact.ForModel, "at "+before+planted); leak(got, planted, "") != "" {
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
		if v := build(t, redact.Set{}, redact.Text("a "+planted+" b")); leak(v.Model.String(), planted, "") == "" {
			t.Errorf("%s: the value is gone without a Set: %q", encoding, v.Model)
		}
	}
}
