package document_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/go-json-experiment/json/jsontext"
)

// value rebuilds the value at i from the tokens alone.
func value(t testing.TB, d *document.Document, i int32) any {
	tok := d.At(i)
	switch tok.Kind {
	case document.Object:
		out := map[string]any{}
		for at := i + 1; at < tok.Next; at = d.At(at + 1).Next {
			if d.At(at).Kind != document.Name {
				t.Fatalf("token %d is no name", at)
			}
			out[string(d.Text(at))] = value(t, d, at+1)
		}
		return out
	case document.Array:
		out := []any{}
		for at := i + 1; at < tok.Next; at = d.At(at).Next {
			out = append(out, value(t, d, at))
		}
		if len(out) != d.Count(i) || d.Empty(i) != (len(out) == 0) {
			t.Fatalf("%d elements, counted %d", len(out), d.Count(i))
		}
		return out
	case document.String:
		return string(d.Text(i))
	}
	var out any
	if err := json.Unmarshal(d.Literal(tok), &out); err != nil {
		t.Fatalf("literal %s: %v", d.Literal(tok), err)
	}
	return out
}

// FuzzParse holds what is read against encoding/json: both take the same texts, and the tokens say the same values.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,true,false,null,"x\u00e9\n\ud83d\ude00\ud800"],"":{}}`, ` [ 1 , [ ] , { } ] `, `"\\"`, `"\""`, `0`, `{"a":1,"a":2}`, "\"\xff\"", `[`, `nul`, "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := document.Parse(text)
		if valid := json.Valid(text); (err == nil) != valid {
			t.Fatalf("%q: %v, encoding/json says %v", text, err, valid)
		}
		strict, strictErr := document.ParseStrict(text)
		if err != nil {
			if strictErr == nil {
				t.Fatalf("%q: strict and not lenient", text)
			}
			return
		}
		var want any
		// Numbers over a double's range do not fit into an any, and bytes that are not UTF-8 stay as they are here.
		if utf8.Valid(text) && json.Unmarshal(text, &want) == nil {
			if got := value(t, &d, d.Root()); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %#v, want %#v", text, got, want)
			}
		}
		values := 0
		for i := range d.Len() {
			if d.At(i).Kind != document.Name {
				values++
			}
			if got := d.Values(0, i+1); got != values {
				t.Fatalf("%q: %d values up to token %d, want %d", text, got, i, values)
			}
			if tok := d.At(i); tok.ASCII && strings.IndexFunc(string(d.Text(i)), func(r rune) bool { return r < ' ' || r >= 0x7f }) >= 0 {
				t.Fatalf("%q: %q is said to be ASCII", text, d.Text(i))
			}
		}
		if d.Compact() {
			var out bytes.Buffer
			if err := json.Compact(&out, text); err != nil || out.String() != string(text) {
				t.Fatalf("%q is said to be compact; compacted it is %q", text, out.String())
			}
		}
		if strictErr == nil && strict.Len() != d.Len() {
			t.Fatalf("%q: %d tokens strictly, %d else", text, strict.Len(), d.Len())
		}
	})
}

// FuzzParseAgainstJSONText holds both readings against the library that this package once asked: the same texts are
// taken, and what is said to be canonical is left alone by its RFC 8785.
func FuzzParseAgainstJSONText(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,true,false,null,"x\u00e9\n\ud83d\ude00\ud800"],"":{}}`, ` [ 1 , [ ] , { } ] `, `"\\"`, `"\/"`, `-0`, `-0.5`, `1.50`, `0.0000001`,
		`{"b":1,"a":2,"b":3}`, `{"a":1,"\u0061":2}`, "\"\xff\"", "\"\x7f\u00e9\"", `01`, `1.`, `.5`, `1e+`, `123456789012345678`, "\"\x01\"", `"\u12"`, `"\udc00"`, "[", "{}{}",
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0,"k":1,"l":2,"m":3,"n":4,"o":5,"q":6,"p":7,"p":8}`,
		`{"b":{"d":1,"c":[2, {"f":3,"e":4}]},"a":5}`, ` {"b" : 1, "a" : 2} `, `{"a":1,"Z":"\n","":{"b":[],"a":{}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := document.Parse(text)
		if valid := jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); (err == nil) != valid {
			t.Fatalf("%q: %v, jsontext says %v", text, err, valid)
		}
		d, err := document.ParseStrict(text)
		if valid := jsontext.Value(text).IsValid(); (err == nil) != valid {
			t.Fatalf("%q: strictly %v, jsontext says %v", text, err, valid)
		}
		if again, why := used(t).ParseStrict(text); !errors.Is(why, err) || !reflect.DeepEqual(again, d) {
			t.Fatalf("%q: read into the memory of another text: %v, %+v, want %+v", text, why, again, d)
		}
		if err != nil {
			return
		}
		if text := d.Canonicalize(); text != nil {
			want := jsontext.Value(bytes.Clone(d.Bytes()))
			if err := want.Canonicalize(); err != nil || !bytes.Equal(text, want) {
				t.Fatalf("%q became %q; that should be %q", d.Bytes(), text, want)
			}
			if again, err := document.ParseStrict(text); err != nil || !again.Canonical() {
				t.Fatalf("%q is not canonical: %v", text, err)
			}
		}
		if d.Canonical() {
			same := jsontext.Value(bytes.Clone(text))
			if err := same.Canonicalize(); err != nil || !bytes.Equal(same, text) {
				t.Fatalf("%q is said to be canonical; that would be %q", text, same)
			}
		}
		for i := range d.Len() {
			if tok := d.At(i); tok.Kind == document.Scalar {
				checkClass(t, &d, tok)
			}
		}
	})
}

// used is a reader with the memory of a text that has every kind of token.
func used(t *testing.T) *document.Reader {
	var r document.Reader
	if _, err := r.ParseStrict([]byte(`[{"a":1.5,"b":true},["x","\u00e9"],null,{},-7]`)); err != nil {
		t.Fatal(err)
	}
	r.Reset()
	return &r
}

// TestAReaderKeepsWhatIsInUse holds two documents of one reader, and what comes after them, apart.
func TestAReaderKeepsWhatIsInUse(t *testing.T) {
	r := used(t)
	var all []document.Document
	texts := []string{`["a","b","c"]`, `[1,2]`, `["a"]`, `{"b":`, `[true]`}
	for _, text := range texts {
		d, err := r.ParseStrict([]byte(text))
		if (err == nil) != json.Valid([]byte(text)) {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, d)
	}
	for i, text := range texts {
		want, _ := document.ParseStrict([]byte(text))
		if !reflect.DeepEqual(all[i], want) {
			t.Errorf("%q became %+v", text, all[i])
		}
	}
	r.Reset()
	if n := testing.AllocsPerRun(100, func() { _, _ = r.ParseStrict([]byte(texts[0])); r.Reset() }); n > 1 {
		t.Errorf("%v allocations for a text that there is memory for", n)
	}
}

// checkClass holds the class of a scalar, and what is said of all numbers, against its text.
func checkClass(t *testing.T, d *document.Document, tok *document.Token) {
	text := string(d.Literal(tok))
	want := document.Integer
	switch {
	case text == "null":
		want = document.Null
	case text == "true" || text == "false":
		want = document.Boolean
	case strings.ContainsAny(text, ".eE"):
		want = document.Fraction
	}
	if tok.Class != want {
		t.Fatalf("%s is of class %d, want %d", text, tok.Class, want)
	}
	if f, err := strconv.ParseFloat(text, 64); want >= document.Integer && d.Ordinary() && (err != nil || math.IsInf(f, 0)) {
		t.Fatalf("%s is said to be ordinary: %v", text, err)
	}
}

func TestOnlyWhatIsCanonicalIsSaidToBe(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1,"b":[true,null,"x\n\"é"],"c":-0.5}`: true, `[]`: true, `0`: true,
		`-0`: false, `1.50`: false, `1e2`: false, `0.0000001`: false, `1234567890123456`: false,
		`{"b":1,"a":2}`: false, `{"é":1}`: false, `"\/"`: false, `"\u00e9"`: false, `[1, 2]`: false, ` 1`: false,
	} {
		if d, err := document.ParseStrict([]byte(text)); err != nil || d.Canonical() != want {
			t.Errorf("%s is said to be canonical: %v, want %v (%v)", text, d.Canonical(), want, err)
		}
	}
}

func TestWhatIsOnlyMixedIsPutInOrder(t *testing.T) {
	for text, want := range map[string]string{
		` { "b" : 1 , "a" : [ true , { "d" : {} , "c" : [ ] , "ca" : "x\n" } ] , "" : null } `: `{"":null,"a":[true,{"c":[],"ca":"x\n","d":{}}],"b":1}`,
		`{"a":{"z":{"y":1,"x":2},"b":3},"A":4}`:                                                `{"A":4,"a":{"b":3,"z":{"x":2,"y":1}}}`,
		"[1,\t2]":                                                                              "[1,2]", ` "é" `: `"é"`, `{"a":1}`: `{"a":1}`,
		`{"é":1}`: "", `{"a":1.50}`: "", `["\/"]`: "", `["\u00e9"]`: "", `[1e2]`: "", `[1234567890123456]`: "", `[-0]`: "",
	} {
		d, err := document.ParseStrict([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := string(d.Canonicalize()); got != want {
			t.Errorf("%s became %q, want %q", text, got, want)
		}
	}
	if d, err := document.ParseStrict([]byte(`[{"b":1,"a":2}]`)); err != nil || d.Canonical() {
		t.Errorf("names out of order are said to be canonical (%v)", err)
	}
	d, err := document.ParseStrict([]byte(`{"r": {"b":1, "a":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	if part := d.Part(2, 1); string(part.Canonicalize()) != `{"a":2,"b":1}` {
		t.Errorf("a part became %s", part.Canonicalize())
	}
}

func TestDepthIsBounded(t *testing.T) {
	for open, shut := range map[string]string{"[": "]", `{"a":`: "}"} {
		for depth, want := range map[int]error{10_000: nil, 10_001: document.ErrNotJSON} {
			text := []byte(strings.Repeat(open, depth) + "1" + strings.Repeat(shut, depth))
			if _, err := document.ParseStrict(text); !errors.Is(err, want) {
				t.Errorf("%d times %s: %v, want %v", depth, open, err, want)
			}
			if valid := jsontext.Value(text).IsValid(); valid != (want == nil) {
				t.Errorf("%d times %s: jsontext says %v", depth, open, valid)
			}
		}
	}
}

func TestManyNamesAreCompared(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `,"n%d":0`, (i*37)%100)
	}
	if _, err := document.ParseStrict([]byte("{" + text.String()[1:] + "}")); err != nil {
		t.Errorf("different names: %v", err)
	}
	for i := range 100 {
		if _, err := document.ParseStrict(fmt.Appendf(nil, `{%s,"\u006e%d":1}`, text.String()[1:], i)); !errors.Is(err, document.ErrNotJSON) {
			t.Fatalf("n%d twice: %v", i, err)
		}
	}
}

func TestStrictRefusesWhatReadersDisagreeAbout(t *testing.T) {
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "\"\xff\"", `"\ud800"`, `{"a":{"b":1,"b":1}}`, `{} {}`, `[1,]`} {
		if _, err := document.ParseStrict([]byte(text)); !errors.Is(err, document.ErrNotJSON) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := document.Parse(make([]byte, document.MaxBytes+1)); !errors.Is(err, document.ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
}

func TestPartStandsForOneValue(t *testing.T) {
	d, err := document.ParseStrict([]byte(`{"result":{"a":[1,2]}}`))
	if err != nil {
		t.Fatal(err)
	}
	part := d.Part(2, 1)
	if string(part.Bytes()) != `{"a":[1,2]}` || part.Depth() != 2 || d.Depth() != 3 {
		t.Errorf("%s, depth %d of %d", part.Bytes(), part.Depth(), d.Depth())
	}
	if got := part.Values(part.Root(), part.At(part.Root()).Next); got != 4 {
		t.Errorf("%d values", got)
	}
}
