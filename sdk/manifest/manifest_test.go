package manifest_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// golden is the file in testdata that shows every member.
func golden(t testing.TB) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "full.json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func full(t testing.TB) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Parse(golden(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParseThenMarshalIsTheSameBytes(t *testing.T) {
	raw := golden(t)
	out, err := manifest.Marshal(full(t))
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != string(raw) {
		t.Fatalf("marshalled:\n%s", out)
	}
}

// A member that testdata/full.json leaves empty would not be compared above.
func TestTheGoldenFileShowsEveryMember(t *testing.T) {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Slice:
			if v.Len() == 0 {
				t.Errorf("%s is empty", path)
			} else if v.Index(0).Kind() == reflect.Struct {
				walk(path+"[0]", v.Index(0))
			}
		default:
			if v.IsZero() {
				t.Errorf("%s is empty", path)
			}
		}
	}
	walk("manifest", reflect.ValueOf(*full(t)))
}

func TestNewTakesTheAuthorsPartWhole(t *testing.T) {
	m := full(t)
	d := wire.Description{
		ABI: m.ABI, Kind: m.Kind, ID: m.ID, Version: m.Version, Summary: m.Summary, License: m.License,
		Capabilities: m.Capabilities, Egress: m.Egress, Credentials: m.Credentials, Signing: m.Signing, Settings: m.Settings, Limits: m.Limits, Tools: m.Tools,
	}
	exports := append(slices.Clone(m.Exports), m.Exports[0])
	slices.Reverse(exports)
	again := manifest.New(d, m.Wasm, exports, m.Imports)
	if !reflect.DeepEqual(again, m) {
		t.Fatalf("got %+v\nwant %+v", again, m)
	}
}

func TestParseDescriptionIsStrict(t *testing.T) {
	d, err := manifest.ParseDescription([]byte(`{"abi":"portcullis/v1","kind":"tool","id":"x","version":"1.0.0","summary":"s","license":"l","limits":{},"tools":[]}`))
	if err != nil || d.ID != "x" {
		t.Fatalf("%+v, %v", d, err)
	}
	for name, in := range map[string]string{
		"digest is not the author's": `{"id":"x","wasm":{"file":"a.wasm"}}`,
		"twice":                      `{"id":"x","id":"y"}`,
		"too long":                   `{"id":"` + strings.Repeat("x", wire.MaxDescription) + `"}`,
	} {
		var se *manifest.SyntaxError
		if _, err := manifest.ParseDescription([]byte(in)); !errors.As(err, &se) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSyntaxErrorsSayWhere(t *testing.T) {
	deep := strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70)
	for name, c := range map[string]struct{ in, want string }{
		"unknown member":        {"{\n  \"id\": \"x\",\n  \"idd\": 1\n}", "line 3 column 8: idd: unknown member"},
		"case matters":          {`{"ID":"x"}`, "ID: unknown member"},
		"unknown inside a tool": {`{"tools":[{"name":"a.b"},{"nmae":"x"}]}`, "tools[1].nmae: unknown member"},
		"twice":                 {`{"id":"x","id":"y"}`, "id: given twice"},
		"twice by escape":       {`{"id":"x","\u0069d":"y"}`, "id: given twice"},
		"twice inside a schema": {`{"tools":[{"input_schema":{"a":{"b":1,"b":2}}}]}`, "tools[0].input_schema.a.b: given twice"},
		"null":                  {`{"tools":null}`, "tools: null is not allowed here"},
		"wrong type":            {`{"id":7}`, "id: a number does not fit here"},
		"fraction":              {`{"manifest_version":1.5}`, "manifest_version: a number 1.5 does not fit here"},
		"number too large":      {`{"wasm":{"size":99999999999999999999}}`, "wasm.size: a number 99999999999999999999 does not fit here"},
		"something follows":     {`{} {}`, "something follows the value"},
		"ends early":            {`{"id":"x"`, "ends too early"},
		"empty":                 {``, "ends too early"},
		"not JSON":              {`{id:1}`, "line 1 column 2: invalid character 'i'"},
		"not an object":         {`[]`, "does not fit here"},
		"not UTF-8":             {"{\"id\":\"\xff\"}", "not UTF-8"},
		"too deep":              {`{"tools":[{"input_schema":` + deep + `}]}`, "nested more than 64 deep"},
		"too long":              {`{"id":"` + strings.Repeat("x", manifest.MaxBytes) + `"}`, "at most 1048576 are allowed"},
	} {
		_, err := manifest.Parse([]byte(c.in))
		var se *manifest.SyntaxError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}
