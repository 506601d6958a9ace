package codec_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/b3abf3ee/portcullis/conformance/checkout"
	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
)

type word string

type small struct {
	Name string `json:"name"`
	On   bool   `json:"on,omitempty"`
}

type base struct {
	ID uint64 `json:"id"`
}

// every has a member of every kind in the table.
type every struct {
	base
	B    bool               `json:"b"`
	I    int                `json:"i"`
	I8   int8               `json:"i8"`
	I16  int16              `json:"i16,omitempty"`
	I32  int32              `json:"i32,omitzero"`
	U8   uint8              `json:"u8"`
	U32  uint32             `json:"u32"`
	F    float64            `json:"f"`
	F32  float32            `json:"f32"`
	S    string             `json:"s"`
	W    word               `json:"é"`
	Y    []byte             `json:"y"`
	R    json.RawMessage    `json:"r,omitempty"`
	A    any                `json:"a"`
	P    *small             `json:"p"`
	PP   **int              `json:"pp,omitempty"`
	L    []small            `json:"l"`
	LS   []string           `json:"ls,omitempty"`
	LL   [][]float64        `json:"ll"`
	LP   []*int             `json:"lp"`
	Arr  [2]int8            `json:"arr"`
	MS   map[string]string  `json:"ms,omitempty"`
	MI   map[string]int     `json:"mi"`
	MF   map[word]float64   `json:"mf"`
	MA   map[string]any     `json:"ma"`
	MM   map[string]small   `json:"mm"`
	Z    struct{}           `json:"z"`
	ZL   []struct{}         `json:"zl,omitzero"`
	Self struct{ X, Y int } `json:"self,omitzero"`
}

var extra = codec.Extra{Maps: []codec.Map{codec.MapOf[string, small](), codec.MapOf[word, float64]()}}

func planOf[T any](t testing.TB) *codec.Plan {
	t.Helper()
	p, err := codec.Build(reflect.TypeFor[T](), extra)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// strict is the reference: v2 as it is, with what the guest's codec keeps of v1.
var strict = jsonv2.JoinOptions(
	jsonv2.RejectUnknownMembers(true), jsonv1.FormatByteArrayAsArray(true), jsonv1.ParseBytesWithLooseRFC4648(true),
	jsonv1.OmitEmptyWithLegacySemantics(true), jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(false),
)

// agree decodes text by the table and by the reference: both refuse it, or both
// give the same value, whose encodings are the same bytes too.
func agree[T any](t *testing.T, text string) {
	t.Helper()
	var got, want T
	p := planOf[T](t)
	gotErr := p.Decode(text, unsafe.Pointer(&got))
	wantErr := jsonv2.Unmarshal([]byte(text), &want, strict)
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%q\n ours: %v\nreference: %v", text, gotErr, wantErr)
	}
	if gotErr != nil {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q\n ours %#v\nreference %#v", text, got, want)
	}
	out, err := p.Append(nil, unsafe.Pointer(&got))
	ref, refErr := jsonv2.Marshal(want, strict)
	if err != nil || refErr != nil || !bytes.Equal(out, ref) {
		t.Fatalf("%q is written\n %s (%v)\nand by the reference\n %s (%v)", text, out, err, ref, refErr)
	}
	var again T // what was nil is empty now, so the bytes are compared
	if err := p.Decode(string(out), unsafe.Pointer(&again)); err != nil {
		t.Fatalf("%.500s does not read back: %v", out, err)
	}
	if twice, err := p.Append(nil, unsafe.Pointer(&again)); err != nil || !bytes.Equal(twice, out) {
		t.Fatalf("%.500s reads back as %.500s, %v", out, twice, err)
	}
}

func texts() []string {
	all := []string{
		`{}`, `null`, ` { } `, `{"nope":1}`, `{"p":{"nome":"x"}}`, `{"ID":1}`, `{"id":1,"b":true,"i":-9,"i8":-128,"i16":3,"i32":4,"u8":255,"u32":7,"f":-1.5e-7,"f32":0.1,"s":"x","é":"w"}`,
		`{"é":"by escape"}`, `{"é":"\u00e9\ud83d\ude00\n\/"}`, `{"\u0073":"name by escape"}`, `{"S":"case"}`, `{"s":"a","s":"b"}`, `{"s":"a","\u0073":"b"}`,
		`{"y":"aGk="}`, `{"y":"aGk"}`, `{"y":"a\r\nGk="}`, `{"y":"aGl="}`, `{"y":""}`, `{"y":null}`, `{"y":"===="}`, `{"y":"a==="}`, `{"y":"aGk=aGk="}`, `{"y":"=aGk"}`,
		`{"r":{"a":[1, 2],"b":null}}`, `{"r":{"a":1,"a":2}}`, `{"r":null}`, `{"r": "a\"b" }`, `{"r":01}`,
		`{"a":{"b":[1,"x",null,true,{"c":1e3}]}}`, `{"a":{"b":1,"b":2}}`, `{"a":1e400}`, `{"a":-0}`, `{"a":1.0}`,
		`{"p":{"name":"n"}}`, `{"p":null}`, `{"p":{}}`, `{"p":{"nome":1}}`, `{"pp":5}`, `{"pp":null}`,
		`{"l":[{"name":"a"},{"name":"b","on":true},{},{},{},{},{},{},{},{}]}`, `{"l":null}`, `{"l":[null]}`, `{"l":[}`, `{"l":[{}]`, `{"l":[{},]}`,
		`{"ll":[[1,2],[],null]}`, `{"lp":[1,null,2]}`, `{"ls":[]}`, `{"arr":[1,2]}`, `{"arr":[1]}`, `{"arr":[1,2,3]}`, `{"arr":null}`,
		`{"ms":{"b":"2","a":"1"}}`, `{"ms":{"a":"1","a":"2"}}`, `{"mi":{"x":9007199254740993}}`, `{"mf":{"x":0.5}}`, `{"ma":{"k":[{}]}}`, `{"mm":{"k":{"name":"v"}}}`, `{"mm":null}`,
		`{"z":{}}`, `{"zl":[{},{},{}]}`, `{"zl":[]}`, `{"self":{"X":1,"Y":2}}`,
		`{"i":1.0}`, `{"i":1e2}`, `{"i":9223372036854775807}`, `{"i":9223372036854775808}`, `{"i":-9223372036854775808}`, `{"i":-0}`, `{"i8":128}`, `{"i8":-129}`,
		`{"u8":256}`, `{"u8":-1}`, `{"u8":-0}`, `{"id":18446744073709551615}`, `{"id":18446744073709551616}`, `{"i":"1"}`, `{"b":1}`, `{"s":1}`, `{"s":null}`,
		`{"f":123456789012345678901234567890}`, `{"f":0.1234567890123456789}`, `{"f":1e308}`, `{"f":1e309}`, `{"f":5e-324}`, `{"f":-0}`, `{"f":-0.0}`, `{"f":999999999999999.9}`,
		`{"f32":3.4028236e38}`, `{"f32":1e39}`, `{"f32":16777217}`, `{"f":1.}`, `{"f":.5}`, `{"f":+1}`, `{"f":01}`, `{"f":-}`, `{"f":1e}`, `{"f":NaN}`,
		"{\"s\":\"\xff\"}", "{\"s\":\"\x01\"}", `{"s":"\ud800"}`, `{"s":"\udc00\ud800"}`, `{"s":"\ud800\ud800"}`, `{"s":"\x"}`, `{"s":"\u12g4"}`, `{"s":"`, `{"s":"\`, `{"s":"\u00`,
		`{"b":true}x`, `{"b":true} {}`, `{"b":tru}`, `{"b":true,}`, `{,}`, `{"b" true}`, `{b:true}`, `{"b":}`, `[]`, `"x"`, ``, ` `, "\ufeff{}",
	}
	return all
}

func TestTheTableAgreesWithTheReference(t *testing.T) {
	for _, text := range texts() {
		agree[every](t, text)
	}
}

func TestNestingIsBoundedAsByTheReference(t *testing.T) {
	for _, n := range []int{codec.MaxDepth - 2, codec.MaxDepth - 1, codec.MaxDepth, codec.MaxDepth + 1} {
		agree[every](t, `{"a":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`)
		agree[every](t, `{"r":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`)
	}
	loop := map[string]any{}
	loop["self"] = loop
	v := struct{ A any }{loop}
	if _, err := planOf[struct{ A any }](t).Append(nil, unsafe.Pointer(&v)); err == nil || !strings.Contains(err.Error(), "nested too deep") {
		t.Fatalf("a value that holds itself: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		agree[every](t, text)
		agree[map[string]any](t, text)
	})
}

func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, 1, -1.5, 0.1, 1e21, 1e20, 1e-6, 9.99e-7, 1e-7, 123456.789, 5e-324, math.MaxFloat64, 0.001, 0.0015, 999999999999.999, 1e12, 2.675, 100.125} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		for _, bits := range []int{32, 64} {
			var arg any = v
			wide := v
			if bits == 32 {
				arg, wide = float32(v), float64(float32(v))
			}
			got, err := codec.AppendFloat(nil, wide, bits)
			want, wantErr := json.Marshal(arg)
			if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
				t.Fatalf("%v (%d bits) is %s, %v; encoding/json has %s, %v", v, bits, got, err, want, wantErr)
			}
			if err == nil && bits == 64 {
				agree[struct{ F float64 }](t, `{"F":`+string(got)+`}`)
			}
		}
	})
}

// Decimals as people write them, exhaustively: reading and writing both take the short way.
func TestShortDecimalsAreExact(t *testing.T) {
	for n := range 200_000 {
		f := float64(n) / 1000
		got, err := codec.AppendFloat(nil, f, 64)
		want, _ := json.Marshal(f)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v is %s, encoding/json has %s", f, got, want)
		}
		var back struct{ F float64 }
		if err := planOf[struct{ F float64 }](t).Decode(`{"F":`+string(got)+`}`, unsafe.Pointer(&back)); err != nil || back.F != f {
			t.Fatalf("%s reads as %v, %v", got, back.F, err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "q\"b\\s/", "\x00\x1f\x7f", "é😀\u2028", "\xff\xc0x", "<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := codec.AppendString(nil, s)
		want, err := jsonv2.Marshal(s, jsontext.AllowInvalidUTF8(true))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q is written %s, by the reference %s (%v)", s, got, want, err)
		}
		in := every{S: s, Y: []byte(s), MS: map[string]string{s: s, "k": s}, A: s}
		out, err := planOf[every](t).Append(nil, unsafe.Pointer(&in))
		if err != nil || !json.Valid(out) {
			t.Fatalf("%s: %v", out, err)
		}
		var back every
		if err := json.Unmarshal(out, &back); err != nil || !bytes.Equal(back.Y, in.Y) {
			t.Fatalf("encoding/json reads %s as %q, %v", out, back.Y, err)
		}
	})
}

// What a strict JSON reader must refuse is refused, and what it must accept is accepted, but for duplicate names.
func TestTheDecoderAgreesWithTheJSONSuite(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(checkout.Data(t, "json-test-suite", "test_parsing"), "*.json"))
	if err != nil || len(files) < 280 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	p := planOf[any](t)
	yes, no := 0, 0
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		name, text := filepath.Base(file), string(in)
		err = p.Decode(text, unsafe.Pointer(&v))
		// A number beyond float64 is valid, and no value.
		if valid := codec.Valid(text); valid != (err == nil) && !strings.HasPrefix(name, "i_number") {
			t.Errorf("%s: Valid says %v, Decode %v", name, valid, err)
		}
		switch name[0] {
		case 'y':
			yes++
			if wantRefused := strings.Contains(name, "duplicated_key"); (err != nil) != wantRefused {
				t.Errorf("%s: %v", name, err)
			}
		case 'n':
			no++
			if err == nil {
				t.Errorf("%s was accepted", name)
			}
		}
	}
	if yes < 95 || no < 188 {
		t.Errorf("only %d that must be accepted and %d that must be refused", yes, no)
	}
}

// The collector runs while values grow: memory that it could not see would be
// taken and overwritten by the garbage that is made meanwhile.
func TestTheCollectorSeesEverything(t *testing.T) {
	p := planOf[every](t)
	var parts []string
	for range 200 {
		parts = append(parts, `{"name":"n\u0061me"}`)
	}
	text := `{"l":[` + strings.Join(parts, ",") + `],"p":{"name":"p\u0061"},"pp":7,"lp":[1,2,3,4,5,6,7,8,9],"mm":{"k":{"name":"v\u0061"}},"ma":{"x":[[["d\u0065ep"]]]},"ll":[[1],[2]],"y":"aGk="}`
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var kept []every
	for range 100 {
		var v every
		if err := p.Decode(text, unsafe.Pointer(&v)); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, v)
		_ = bytes.Repeat([]byte{0xAA}, 1<<12)
	}
	close(stop)
	<-done
	var want every
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	for i := range kept {
		if !reflect.DeepEqual(kept[i], want) {
			t.Fatalf("value %d was overwritten: %+v", i, kept[i])
		}
	}
}
