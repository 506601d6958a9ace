package redact

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// everywhere is [notices] by a scanner that tries every shape at every word: slow, and plain to see.
func everywhere(text []byte) []notice {
	s := scanner{text: text}
	word := false // the byte before is a letter, digit or underscore
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !word && (isAlpha(c) || c == '-') && len(text)-i > 16 {
			if n, name := shapeAt(text[i:]); n > 0 {
				s.found(i, i+n, name, Shape)
				i += n - 1
				word = true
				continue
			}
		}
		switch c {
		case ':':
			if bytes.HasPrefix(text[i:], []byte("://")) {
				s.url(i)
			} else if start, end := telegramAround(text, i); end > 0 {
				s.found(start, end, "telegram_token", Shape)
			} else {
				s.assignment(i)
			}
		case '=':
			s.assignment(i)
		case '-':
			if i+2 < len(text) && text[i+1] == '-' && isAlpha(text[i+2]) {
				s.option(i + 2)
			}
		case ' ':
			s.bearer(i)
		}
		word = isAlnum(c) || c == '_'
	}
	return s.out
}

// FuzzNotices holds the scanner that skips ordinary bytes against the one that does not.
func FuzzNotices(f *testing.F) {
	for _, text := range []string{
		"ghp_" + strings.Repeat("a1", 20) + "_sk-" + strings.Repeat("b2", 20), "x AKIAABCDEFGHIJKLMNOP AIza" + strings.Repeat("c3", 20),
		"github_pat_" + strings.Repeat("d4", 20) + "ghp_" + strings.Repeat("a1", 20), "token=glpat-" + strings.Repeat("e5", 12),
		"eyJhbGciOiJIUzI1.eyJhbGciOiJIUzI1NiJ9.abc eyJ ASIAABCDEFGHIJKLMNOP", "-sk-ant-" + strings.Repeat("f6", 12) + " --password hunter22",
		"AGE-SECRET-KEY-1" + strings.Repeat("G7", 30), "Authorization: Bearer abcdefgh12345678 Basic dXNlcjpwYXNzd29yZA==",
		"-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("QUJD", 20) + "\n-----END PRIVATE KEY----- hf_" + strings.Repeat("a1", 20),
		"npm_" + strings.Repeat("a1", 20) + " rk_live_" + strings.Repeat("a1", 20) + " xoxb-1234567890ab xapp-1234567890ab sk_live_" + strings.Repeat("a1", 9),
		"123456789:" + strings.Repeat("a1", 17) + "b https://u:pw1234567@h/?token=abcdefgh12", "asia_ASIA AKIA-eyJ_", "Bbasic dXNlcjpwYXNzd29yZA== bbearer abcdefgh12345678", "xoxb-1234567890-bearer abcdefgh12345678", "sk-proj-" + strings.Repeat("z9", 11) + "sk-svcacct-" + strings.Repeat("z9", 11),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4<<10 {
			return
		}
		if fast, slow := notices(text, quiet(text, 0)), everywhere(text); !slices.Equal(fast, slow) {
			t.Fatalf("%q: found %v, want %v", text, fast, slow)
		}
	})
}

// FuzzRecords holds a walk that looks at the names of one record for all that are like it against one that looks at each.
func FuzzRecords(f *testing.F) {
	for _, text := range []string{
		`[{"a":"x","b":1},{"a":"token=glpat-e5e5e5e5e5e5e5e5e5e5","b":2},{"a":"y","b":3}]`, `[{"password":"","n":1},{"password":"letmein","n":2},{"password":"hunter22","n":3}]`,
		`[{"a":{"token":null},"b":["x"]},{"a":{"token":"abcd1234efgh"},"b":["abcd1234efgh"]}]`, `[[{"secret":"a1b2c3d4"},{"secret":"b2c3d4e5"}],[{"secret":"a1b2c3d4"},{"secret":"b2c3d4e5"}]]`,
		`[{"ghp_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1":"x"},{"ghp_a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1":"y"}]`, `[{"secrets":{"A":"KNOWN"}},{"secrets":{"A":"UNKNOWN"}},{"secrets":{"A":"KNOWN"}}]`,
		`[{"id":"é:1"},{"id":"password: hunter22hunter22"},{"id":"p\u0061ssword=hunter22hunter22"}]`,
	} {
		f.Add([]byte(text))
	}
	set, err := Set{}.With(NewSecret("KNOWN", "the-value-of-it"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := document.Parse(text)
		if err != nil || len(text) > 4<<10 {
			return
		}
		fast := newBuilder(set, len(text))
		fast.doc.Document = d
		fast.document()
		if d, err = document.Parse(text); err != nil {
			t.Fatal(err)
		}
		for i := range d.Len() {
			if t := d.At(i); t.Class == document.Alike {
				t.Class = 0
			}
		}
		slow := newBuilder(set, len(text))
		slow.doc.Document = d
		slow.document()
		if !reflect.DeepEqual(fast.doc.whole, slow.doc.whole) || !reflect.DeepEqual(fast.doc.spans, slow.doc.spans) || !slices.Equal(fast.marks, slow.marks) || len(fast.harvested) != len(slow.harvested) {
			t.Fatalf("%s: hidden are %v and %v, want %v and %v", text, fast.doc.whole, fast.doc.spans, slow.doc.whole, slow.doc.spans)
		}
	})
}

// A name that had nothing to hide in one record may have in the next.
func TestANameIsSensitiveInEveryRecord(t *testing.T) {
	for _, records := range []string{
		`[{"password":"","n":1},{"password":null,"n":2},{"password":"letmein","n":3}]`, `[{"password":"","n":1},{"password":"","n":2},{"password":"letmein","n":3}]`,
		`[{"in":{"password":""},"n":1},{"in":{"password":""},"n":2},{"in":{"password":"letmein"},"n":3}]`,
	} {
		v, err := Build(Set{}, DefaultBounds(), JSON([]byte(records)))
		if err != nil || strings.Contains(v.Debug.String(), "letmein") || !strings.Contains(v.Debug.String(), `"n":3`) {
			t.Errorf("%s, %v", v.Debug, err)
		}
	}
}

// A result may be a part of what was read, and then the record before it is none of it: nobody looked at its names.
func TestANameIsSensitiveInARecordThatIsAllThereIs(t *testing.T) {
	d, err := document.ParseStrict([]byte(`[{"password":"other","n":1},{"password":"letmein","n":2}]`))
	if err != nil {
		t.Fatal(err)
	}
	first := d.Root() + 1
	v, err := Build(Set{}, DefaultBounds(), Document(d.Part(d.At(first).Next, 1)))
	if err != nil || strings.Contains(v.Debug.String(), "letmein") || !strings.Contains(v.Debug.String(), `"n":2`) {
		t.Errorf("%s, %v", v.Debug, err)
	}
}

// Three records are read one by the other, and only the last of them says something.
func TestAStringIsLookedAtInEveryRecord(t *testing.T) {
	v, err := Build(Set{}, DefaultBounds(), JSON([]byte(`[{"id":"a","n":1},{"id":"b","n":2},{"id":"password=hunter22hunter22","n":3}]`)))
	if err != nil || strings.Contains(v.Debug.String(), "hunter22") || !strings.Contains(v.Debug.String(), `"n":3`) {
		t.Errorf("%s, %v", v.Debug, err)
	}
}
