package sdk

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
)

type place struct {
	City string `json:"city" desc:"name, as people write it" minLength:"1" maxLength:"80" pattern:"^[A-Z]{1,3}"`
	Zip  string `json:"zip,omitempty" format:"regex"`
}

type base struct {
	ID int64 `json:"id"`
}

// extra is what options add to a tool.
func extra(opts ...Option) codec.Extra {
	var t ToolSpec
	for _, o := range opts {
		o(&t)
	}
	return t.extra
}

type celsius float64

func (c celsius) MarshalText() ([]byte, error) { return []byte("warm"), nil }

func TestSchemaOfEachKind(t *testing.T) {
	more := extra(Times(), Text[celsius](), Maps[string, map[string]int64]())
	for _, c := range []struct {
		of   any
		want string
	}{
		{struct{}{}, `{"type":"object","additionalProperties":false}`},
		{struct {
			A bool
			B string `json:"b"`
			C float64
			D int
		}{}, `{"type":"object","properties":{"A":{"type":"boolean"},"b":{"type":"string"},"C":{"type":"number"},"D":{"type":"integer"}},"required":["A","b","C","D"],"additionalProperties":false}`},
		{struct {
			I8  int8   `json:"i8,omitempty"`
			I32 int32  `json:"i32,omitempty"`
			U16 uint16 `json:"u16,omitempty"`
			U   uint   `json:"u,omitempty"`
		}{}, `{"type":"object","properties":{"i8":{"type":"integer","minimum":-128,"maximum":127},"i32":{"type":"integer","minimum":-2147483648,"maximum":2147483647},"u16":{"type":"integer","minimum":0,"maximum":65535},"u":{"type":"integer","minimum":0}},"additionalProperties":false}`},
		{struct {
			Places []place `json:"places" desc:"where" minItems:"1" maxItems:"9"`
		}{}, `{"type":"object","properties":{"places":{"type":"array","description":"where","minItems":1,"maxItems":9,"items":{"type":"object","properties":{"city":{"type":"string","description":"name, as people write it","minLength":1,"maxLength":80,"pattern":"^[A-Z]{1,3}"},"zip":{"type":"string","format":"regex"}},"required":["city"],"additionalProperties":false}}},"required":["places"],"additionalProperties":false}`},
		{struct {
			Tags [2]string `json:"tags" enum:"red|green, dark" maxLength:"12"`
		}{}, `{"type":"object","properties":{"tags":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"string","enum":["red","green, dark"],"maxLength":12}}},"required":["tags"],"additionalProperties":false}`},
		{struct {
			N int     `json:"n" default:"3" minimum:"1" maximum:"5" enum:"1|3|5"`
			S string  `json:"s" default:"a,b"`
			B bool    `json:"b" default:"true"`
			F float64 `json:"f" default:"0.5" minimum:"-0.5"`
		}{}, `{"type":"object","properties":{"n":{"type":"integer","enum":[1,3,5],"default":3,"minimum":1,"maximum":5},"s":{"type":"string","default":"a,b"},"b":{"type":"boolean","default":true},"f":{"type":"number","default":0.5,"minimum":-0.5}},"additionalProperties":false}`},
		{struct {
			P *int     `json:"p" desc:"maybe"`
			Q *int     `json:"q,omitempty"`
			R *place   `json:"r" desc:"somewhere"`
			S []*int   `json:"s,omitzero"`
			E *string  `json:"e" enum:"a|b"`
			X *any     `json:"x"`
			L *[]int32 `json:"l,omitempty" minItems:"1"`
		}{}, `{"type":"object","properties":{"p":{"type":["integer","null"],"description":"maybe"},"q":{"type":"integer"},"r":{"description":"somewhere","anyOf":[{"type":"object","properties":{"city":{"type":"string","description":"name, as people write it","minLength":1,"maxLength":80,"pattern":"^[A-Z]{1,3}"},"zip":{"type":"string","format":"regex"}},"required":["city"],"additionalProperties":false},{"type":"null"}]},"s":{"type":"array","items":{"type":["integer","null"]}},"e":{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"null"}]},"x":{},"l":{"type":"array","minItems":1,"items":{"type":"integer","minimum":-2147483648,"maximum":2147483647}}},"additionalProperties":false}`},
		{map[string]map[string]int64{}, `{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"integer"}}}`},
		{struct {
			T  time.Time       `json:"t"`
			R  json.RawMessage `json:"r"`
			A  any             `json:"a"`
			B  []byte          `json:"b"`
			N  json.Number     `json:"n"`
			C  celsius         `json:"c"`
			No func()          `json:"-"`
		}{}, `{"type":"object","properties":{"t":{"type":"string","format":"date-time"},"r":{},"a":{},"b":{"type":"string","contentEncoding":"base64"},"n":{"type":"number"},"c":{"type":"string"}},"required":["t","r","a","b","n","c"],"additionalProperties":false}`},
		{struct {
			base
			Inner base `json:"inner"`
		}{}, `{"type":"object","properties":{"id":{"type":"integer"},"inner":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}},"required":["id","inner"],"additionalProperties":false}`},
		{json.RawMessage{}, `{"type":"object"}`},
	} {
		got, faults := deriveInput(reflect.TypeOf(c.of), more)
		if len(faults) > 0 {
			t.Errorf("%T: %q", c.of, faults)
			continue
		}
		if string(got.json) != c.want {
			t.Errorf("%T\n got %s\nwant %s", c.of, got.json, c.want)
		}
	}
}

type tree struct {
	Children []tree `json:"children"`
}

type embedsItself struct{ *embedsItself }

type opaque struct{}

func (opaque) MarshalJSON() ([]byte, error) { return []byte("7"), nil }

// What the deriver cannot say truthfully it refuses to say.
func TestSchemaRefusals(t *testing.T) {
	for _, c := range []struct {
		of   any
		want string
	}{
		{"text", "is not a struct or a map with string keys"},
		{[]int{}, "is not a struct or a map with string keys"},
		{tree{}, "contains itself"},
		{embedsItself{}, "only a struct can be embedded"},
		{struct{ D time.Duration }{}, "name the unit"},
		{struct{ C chan int }{}, "chan int has no JSON Schema"},
		{struct{ F func() }{}, "has no JSON Schema"},
		{struct{ E error }{}, "error has no JSON Schema"},
		{struct{ M map[int]string }{}, "keys of a map must be strings"},
		{struct{ M map[string]place }{}, "type map[string]sdk.place needs the option sdk.Maps[string, sdk.place]() of its tool"},
		{struct{ T time.Time }{}, "add the option sdk.Times() to its tool"},
		{struct{ C celsius }{}, "add the option sdk.Text[sdk.celsius]() to its tool"},
		{struct{ O opaque }{}, "encodes itself"},
		{struct{ O []opaque }{}, "encodes itself"},
		{struct {
			base
			ID int `json:"id"`
		}{}, "two members named id"},
		{struct {
			A int `json:"name"`
			B int `json:"NAME"`
		}{}, "two members named NAME"},
		{struct {
			A int `json:"a,string"`
		}{}, "json option string is not supported"},
		{struct {
			A int `json:"a" mininum:"1"`
		}{}, "tag mininum is not one of"},
		{struct {
			A int `json:"a" minimum:"one"`
		}{}, "is not a number"},
		{struct {
			A int `json:"a" minLength:"1"`
		}{}, "works on string, this is integer"},
		{struct {
			A string `json:"a" minimum:"1"`
		}{}, "works on integer or number, this is string"},
		{struct {
			A string `json:"a" minItems:"1"`
		}{}, "works on array, this is string"},
		{struct {
			A string `json:"a" maxLength:"-1"`
		}{}, "is not a count"},
		{struct {
			A int `json:"a" pattern:"^1"`
		}{}, "works on string"},
		{struct {
			A int `json:"a" enum:"1|two"`
		}{}, "does not fit int"},
		{struct {
			A int8 `json:"a" default:"300"`
		}{}, "does not fit int8"},
		{struct {
			A []int `json:"a" default:"1"`
		}{}, "this is array"},
		{struct {
			A *int `json:"a" default:"1"`
		}{}, "a default works on plain fields only"},
		{struct {
			A []struct {
				B int `json:"b" default:"1"`
			} `json:"a"`
		}{}, "a default works on plain fields only"},
	} {
		_, faults := deriveInput(reflect.TypeOf(c.of), codec.Extra{})
		if len(faults) != 1 || !strings.Contains(faults[0], c.want) {
			t.Errorf("%T: %q\nwant %s", c.of, faults, c.want)
		}
	}
	if _, faults := deriveOutput(reflect.TypeFor[struct {
		A int `json:"a" default:"1"`
	}](), codec.Extra{}); len(faults) != 1 || !strings.Contains(faults[0], "no meaning in a result") {
		t.Errorf("a default in a result: %q", faults)
	}
	if _, faults := parseTags(`json:"a" desc`); len(faults) != 1 {
		t.Error("half a tag was read")
	}
}

// Whoever mends a type hears all that is wrong with it at once.
func TestEveryFaultOfATypeIsTold(t *testing.T) {
	type deep struct {
		On  bool           `json:"on" minimum:"1"`
		Err error          `json:"err"`
		At  []map[int]bool `json:"at" minItems:"x" maxLength:"3"`
	}
	type shared struct {
		Old int `json:"old,string" default:"x"`
	}
	type in struct {
		shared
		*deep
		City  string           `json:"city" minlength:"1" pattern:"^a" maxLength:"x" minItems:"1"`
		Call  func()           `json:"call" desc:"c" minLength:"1"`
		Lines chan int         `json:"lines"`
		Deep  []deep           `json:"deep"`
		Twice int              `json:"CITY" default:"ten" pattern:"^1"`
		Notes map[string]place `json:"notes" enum:"{}"`
	}
	_, faults := deriveInput(reflect.TypeFor[in](), codec.Extra{})
	want := []string{
		"field sdk.shared.Old: json option string is not supported",
		"field sdk.in.deep: only a struct can be embedded without a json name, and not in itself",
		"field sdk.in.Call: type func() has no JSON Schema",
		"field sdk.in.Lines: type chan int has no JSON Schema",
		"field sdk.in.Deep: field sdk.deep.Err: type error has no JSON Schema",
		"field sdk.in.Deep: field sdk.deep.At: type map[int]bool: keys of a map must be strings",
		"field sdk.in.Twice: there are two members named CITY",
		"field sdk.in.Notes: type map[string]sdk.place needs the option sdk.Maps[string, sdk.place]() of its tool",
		"field sdk.shared.Old: tag default:\"x\": does not fit int",
		"field sdk.in.City: tag minlength is not one of json, desc, enum, default, minimum, maximum, minLength, maxLength, pattern, format, minItems, maxItems",
		"field sdk.in.City: tag maxLength:\"x\": is not a count",
		"field sdk.in.City: tag minItems:\"1\": works on array, this is string",
		"field sdk.in.Deep: field sdk.deep.On: tag minimum:\"1\": works on integer or number, this is boolean",
		"field sdk.in.Deep: field sdk.deep.At: tag minItems:\"x\": is not a count",
		"field sdk.in.Twice: tag default:\"ten\": does not fit int",
		"field sdk.in.Twice: tag pattern:\"^1\": works on string, this is integer",
		"field sdk.in.Notes: tag enum:\"{}\": works on string or integer or number, this is object",
	}
	if got := faults.Told(); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	// go vet knows half a tag too, so the type is made here. Both walks find it; it is told once.
	half := reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[int](), Tag: `desc json:"a"`}})
	if _, faults := deriveInput(half, codec.Extra{}); len(faults.Told()) != 1 || !strings.Contains(faults[0], `.A: tag `) {
		t.Errorf("half a tag: %q", faults)
	}
}

func TestDecodeSetsDefaultsWhereTheCallerIsSilent(t *testing.T) {
	type in struct {
		N     int `json:"n" default:"3"`
		Inner struct {
			Mode string `json:"mode" default:"fast"`
			Deep struct {
				On bool `json:"on" default:"true"`
			} `json:"deep"`
		} `json:"inner,omitempty"`
	}
	c, faults := deriveInput(reflect.TypeFor[in](), codec.Extra{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var first in
	if err := c.setDefaults(unsafe.Pointer(&first)); err != nil {
		t.Fatal(err)
	}
	v := first
	if err := c.decode(`{"inner":{"mode":"slow"}}`, unsafe.Pointer(&v)); err != nil {
		t.Fatal(err)
	}
	if v.N != 3 || v.Inner.Mode != "slow" || !v.Inner.Deep.On {
		t.Fatalf("got %+v", v)
	}
	v = first
	if err := c.decode(`{"n":0,"inner":{"deep":{"on":false}}}`, unsafe.Pointer(&v)); err != nil {
		t.Fatal(err)
	}
	if v.N != 0 || v.Inner.Mode != "fast" || v.Inner.Deep.On {
		t.Fatalf("what the caller gave did not win: %+v", v)
	}
}
