package document_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// sameTokens holds a text, read by elements that are like the one before them, against a reading of each element for itself,
// and what is said of such elements against their tokens. It returns how many there are.
func sameTokens(t *testing.T, text []byte, strict bool) (alike int) {
	t.Helper()
	read := document.Parse
	if strict {
		read = document.ParseStrict
	}
	d, err := read(text)
	want, why := document.ParseEach(text, strict)
	if !errors.Is(err, why) {
		t.Fatalf("%q: %v, want %v", text, err, why)
	}
	if err != nil {
		return 0
	}
	alike = checkAlike(t, &d)
	for i := range d.Len() {
		if tok := d.At(i); tok.Kind == document.Object || tok.Kind == document.Array {
			tok.Class = 0
		}
	}
	if !reflect.DeepEqual(d, want) {
		t.Fatalf("%q:\n%+v, want\n%+v", text, d, want)
	}
	return alike
}

// checkAlike holds every element that is said to be like the one before it against that.
func checkAlike(t *testing.T, d *document.Document) (alike int) {
	for i := range d.Len() {
		before := int32(-1) // no element
		for at := i + 1; d.At(i).Kind == document.Array && at < d.At(i).Next; at = d.At(at).Next {
			if tok := d.At(at); tok.Class == document.Alike && tok.Kind != document.Scalar {
				alike++
				if before < 0 || tok.Next-at != at-before {
					t.Fatalf("%q: token %d is said to be like none", d.Bytes(), at)
				}
				for k := range at - before {
					old, own := d.At(before+k), d.At(at+k)
					if old.Kind != own.Kind || old.Next-before != own.Next-at ||
						own.Kind == document.Scalar && old.Class != own.Class ||
						own.Kind == document.Name && !bytes.Equal(d.Text(before+k), d.Text(at+k)) {
						t.Fatalf("%q: token %d is said to be like %d, and is not", d.Bytes(), at+k, before+k)
					}
				}
			}
			before = at
		}
		if tok := d.At(i); tok.Class == document.Alike && tok.Kind != document.Scalar {
			alike--
		}
	}
	if alike != 0 {
		t.Fatalf("%q: %d are said to be alike that are no elements", d.Bytes(), -alike)
	}
	for i := range d.Len() {
		if d.At(i).Class == document.Alike {
			alike++
		}
	}
	return alike
}

// FuzzElementsAlike holds readings by the element before against readings of each element for itself.
func FuzzElementsAlike(f *testing.F) {
	for _, text := range []string{
		`[{"a":1},{"a":2},{"a":"x"},{"a":null},{"a":true},{"a":1.5},{"b":1}]`,
		`[ {"a" : 1 , "b":"x"} , {"a" : 2 , "b":"y\n"} , {"a" : 2 , "b":"é"} ]`,
		`[{"a":[{"b":1},{"b":2}],"c":{}},{"a":[{"b":1},{"b":"2"}],"c":{}},{"a":[{"b":1},{"b":2}],"c":[]}]`,
		`[[1,2],[3,4],[5,6,7],[8],[]]`, `[{},{},{"a":1},{}]`, `[[[]],[[]],[[[]]]]`, `[{"é":1},{"é":2}]`, `[{"\n":1},{"\n":2}]`,
		`[{"a":"longer than eight"},{"a":"longer than \"ight"},{"a":"longer"},{"a":"longer than eigh\u0074"}]`,
		`[{"a":"12345678"},{"a":"1234567\"},{"a":"12345678"}]`, "[{\"a\":\"1\"},{\"a\":\"\x01\"}]", "[{\"a\":\"1\"},{\"a\":\"\xff\"}]", `[{"a":1},{"a":2`, `[{"a":1},{"a":}]`,
		`[{"a":1,"b":2},{"a":1,"a":2}]`, `[{"b":1,"a":2},{"b":1,"a":2}]`, `{"i":[{"a":-0},{"a":1e5},{"a":123456789012345678901234567890123}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sameTokens(t, text, true)
		sameTokens(t, text, false)
	})
}

// TestRecordsThatDiffer reads arrays of records in which now and then one is another.
func TestRecordsThatDiffer(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	var value func(depth int) string
	value = func(depth int) string {
		switch n := rnd.IntN(12); {
		case n == 0 && depth < 4:
			return "[" + value(depth+1) + pick("", ",1", `,"x"`) + "]"
		case n == 1 && depth < 4:
			return `{"k":` + value(depth+1) + pick("}", `,"l":{}}`, `,"l": []}`)
		case n < 8:
			return `"` + strings.Repeat(pick("x", "yz", "é", `\"`, `\u00e9`, " ", "~"), rnd.IntN(12)) + `"`
		default:
			return pick("0", "-1", "12.5", "1e3", "true", "false", "null", "1234567890123456789", "1.50", "-0")
		}
	}
	alike := 0
	for range 1500 {
		var b strings.Builder
		b.WriteString(pick("[", ` [ `, `{"items":[`))
		closing := "]"
		if strings.HasPrefix(b.String(), "{") {
			closing = "]}"
		}
		names := []string{pick("id", "a", "b"), pick("name", "c", `\u0061`), pick("tags", "é", "id")}
		for i := range 2 + rnd.IntN(12) {
			if i > 0 {
				b.WriteString(pick(",", ",", ",", " , "))
			}
			if rnd.IntN(10) == 0 {
				b.WriteString(value(0))
				continue
			}
			fmt.Fprintf(&b, `{"%s":%s,"%s":%s,"%s":["%s",%s],"z":{"y":%d}}`, names[0], value(3), names[1], value(4), names[2], pick("rules", "gates", "a"), value(5), i)
		}
		text := b.String() + closing
		if rnd.IntN(8) == 0 { // and some that are no JSON
			text = text[:rnd.IntN(len(text))] + pick("", "x", `"`, "}") + text[rnd.IntN(len(text)):]
		}
		alike += sameTokens(t, []byte(text), true)
		sameTokens(t, []byte(text), false)
		for range 10 { // one byte is another: what it stands in has the length that it had
			at := rnd.IntN(len(text))
			other := text[:at] + pick(`"`, `\`, "\x01", "\xff", "\x7f", ",", "x", "1") + text[at+1:]
			sameTokens(t, []byte(other), true)
			sameTokens(t, []byte(other), false)
		}
	}
	if alike < 200 {
		t.Errorf("only %d elements were said to be like the one before", alike)
	}
}

// TestRecordsAreRecognised names what is like the element before it, and what is not.
func TestRecordsAreRecognised(t *testing.T) {
	for text, want := range map[string]int{
		`[{"a":1,"b":"x"},{"a":2,"b":"yyyy"},{"a":3,"b":"z\n"},{"a":4,"b":"é"}]`: 3,
		`[[1,"a"],[2,"b"],[3,"c"]]`: 2, `[{"a":[{"b":1},{"b":2}]},{"a":[{"b":3},{"b":4}]}]`: 3,
		`[{"a":1},{"a":1.5},{"a":2.5},{"a":null},{"a":"x"},{"a":"y"}]`: 2, `[{"a":1},{"b":1},{"b":2,"c":3}]`: 0, `[1,2]`: 0, `[{},{}]`: 0,
		`[{"a":[{"b":1},{"b":2}]},{"a":[{"b":1},{"b":"x"}]}]`: 1, `[{"a":[{"b":1},{"b":2}]},{"a":[{"b":"x"},{"b":"y"}]}]`: 1,
	} {
		if got := sameTokens(t, []byte(text), true); got != want {
			t.Errorf("%s: %d are like the one before, want %d", text, got, want)
		}
	}
}

// TestLittleIsReadInVain has elements that differ from the one before at their very end, inside of others that do.
func TestLittleIsReadInVain(t *testing.T) {
	element := `{"a":[1,2,3],"b":1}`
	for range 10 {
		element = fmt.Sprintf(`{"a":[%s,%s"c":1}],"b":1}`, element, strings.TrimSuffix(element, `"b":1}`))
	}
	text := []byte(element)
	if vain := document.InVain(text); vain > len(text) {
		t.Errorf("%d bytes were read in vain of a text of %d", vain, len(text))
	}
	sameTokens(t, text, true)
}
