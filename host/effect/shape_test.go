package effect

import (
	"encoding/json"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// plainSchemas use every keyword that a shape holds.
var plainSchemas = []string{
	`{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":3},"b":{"type":"integer","minimum":-2,"maximum":9}},"required":["a"],"additionalProperties":false}`,
	`{"type":["array","null"],"minItems":1,"maxItems":3,"items":{"type":"number","maximum":2.5}}`,
	`{"type":"object","additionalProperties":{"type":"boolean"},"minProperties":1,"maxProperties":2}`,
	`{"anyOf":[{"type":"string","enum":["x","é","a\"b"]},{"type":"null"}],"description":"one of"}`,
	`{"properties":{"a":true,"b":{"properties":{"c":{"type":"string"}},"required":["c","d"]}}}`,
	`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"number"}},"required":["b"],"additionalProperties":false}}}}`,
	`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","maxLength":2},"b":{"type":"integer"}}}}`,
	`{"items":{"properties":{"a":{"items":{"anyOf":[{"type":"string","enum":["x","y"]},{"type":"number","minimum":1}]}}},"required":["a"]}}`,
}

// FuzzShapeAgreesWithTheLibrary: what a shape lets through, the library lets through. The other way is not asked: a
// shape may say that it cannot tell.
func FuzzShapeAgreesWithTheLibrary(f *testing.F) {
	for _, doc := range []string{
		`{"a":"xy","b":3}`, `{"a":"","b":10}`, `{"a":"éééé"}`, `{"b":1.0}`, `[1,2,2.5]`, `[]`, `null`, `[1e400]`, `{"x":true}`, `{"x":true,"y":false,"z":true}`, `"x"`, `"\u00e9"`,
		`{"a":1,"b":{"c":"","d":[]}}`, `{"a":[{"b":1},{"b":-0}]}`, `{"a":[{}]}`, `{"a":"xy","b":-0}`, `{"a":"xy","b":1E1}`,
		`[{"a":"x","b":1},{"a":"y","b":2},{"a":"xyz","b":3}]`, `[{"a":"x","b":1},{"a":"y","b":2.0}]`, `[{"a":["x","y"]},{"a":["x","z"]}]`, `{"a":[{"b":1},{"b":2},{"b":"3"}]}`,
		`[{"a":[1,"x"]},{"a":[2,"y"]},{"a":[0,"y"]}]`,
	} {
		f.Add([]byte(doc))
	}
	var schemas []*Schema
	for _, text := range plainSchemas {
		s, err := CompileSchema(json.RawMessage(text))
		if err != nil {
			f.Fatal(err)
		}
		schemas = append(schemas, s)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc, err := document.ParseStrict(raw)
		if err != nil || len(raw) > 4<<10 {
			return
		}
		for i, s := range schemas {
			if s.plain.fits(&doc, doc.Root()) {
				if faults := s.Check(raw); len(faults) > 0 {
					t.Fatalf("schema %s lets %s through; the library says %v", plainSchemas[i], raw, faults)
				}
			}
		}
	})
}

// Records that are like the one before fit where that did, unless the schema asks for what they say.
func TestEachRecordIsHeldAgainstItsSchema(t *testing.T) {
	for _, c := range []struct {
		item, good, bad string
		open            bool
	}{
		{`{"type":"string"}`, `"xyz"`, `1`, true},
		{`{"type":"string","maxLength":2}`, `"xy"`, `"xyz"`, false},
		{`{"type":"string","minLength":2}`, `"xy"`, `"x"`, false},
		{`{"type":"integer","minimum":3}`, `3`, `2`, false},
		{`{"type":"integer","maximum":3}`, `3`, `4`, false},
		{`{"type":"string","enum":["x","y"]}`, `"x"`, `"z"`, false},
		{`{"anyOf":[{"type":"string","maxLength":2},{"type":"null"}]}`, `"xy"`, `"xyz"`, false},
		{`{"additionalProperties":{"type":"string","maxLength":2}}`, `{"b":"xy"}`, `{"b":"xyz"}`, false},
		{`{"items":{"type":"string","maxLength":2}}`, `["xy"]`, `["xyz"]`, false},
		{`{"properties":{"b":{"type":"string","maxLength":2}}}`, `{"b":"xy"}`, `{"b":"xyz"}`, false},
		{`{"type":"integer"}`, `1`, `1.5`, true},
		{`{"type":"array","maxItems":1}`, `[1]`, `[1,2]`, true},
	} {
		s, err := CompileSchema(json.RawMessage(`{"items":{"properties":{"a":` + c.item + `}}}`))
		if err != nil || s.plain == nil || s.plain.items.open != c.open {
			t.Fatalf("%s: %v, %+v", c.item, err, s.plain)
		}
		good := `{"a":` + c.good + `},`
		for text, want := range map[string]bool{
			`[` + good + good + good + `{"a":` + c.good + `}]`: true, `[` + good + good + good + `{"a":` + c.bad + `}]`: false,
		} {
			doc, err := document.ParseStrict([]byte(text))
			if err != nil || (len(s.check(&doc)) == 0) != want || s.plain.fits(&doc, doc.Root()) != want {
				t.Errorf("%s within %s: fits is not %v (%v)", text, c.item, want, err)
			}
		}
	}
}

// A schema of plain keywords answers for itself, one with any other keyword is the library's alone.
func TestPlainSchemasAnswerAndOthersDoNot(t *testing.T) {
	fitting := []string{`{"a":"xy","b":3}`, `[1,2,2.5]`, `{"x":true}`, `"é"`, `{"a":1,"b":{"c":"","d":[]}}`, `{"a":[{"b":1},{"b":0.5}]}`, `[{"a":"x","b":1},{"a":"yz","b":2}]`, `[{"a":["x",1]},{"a":["y",2]}]`}
	for i, text := range plainSchemas {
		s, err := CompileSchema(json.RawMessage(text))
		if err != nil || s.plain == nil {
			t.Fatalf("%s has no shape: %v", text, err)
		}
		doc, err := document.ParseStrict([]byte(fitting[i]))
		if err != nil || !s.plain.fits(&doc, doc.Root()) {
			t.Errorf("the shape of %s does not let %s through (%v)", text, fitting[i], err)
		}
	}
	for _, text := range []string{
		`{"type":"string","pattern":"^a"}`, `{"type":"string","format":"date"}`, `{"not":{"type":"null"}}`, `{"oneOf":[{"type":"null"}]}`,
		`{"properties":{"a":{"const":1}}}`, `{"items":{"multipleOf":2}}`, `{"enum":[1,"a"]}`, `{"uniqueItems":true}`, `false`,
		`{"additionalProperties":{"if":{"type":"null"}}}`, `{"anyOf":[{"contains":{}}]}`, `{"prefixItems":[{}]}`, `{"exclusiveMinimum":1}`,
		`{"$defs":{"a":{"type":"null"}},"$ref":"#/$defs/a"}`, `{"dependentRequired":{"a":["b"]}}`, `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}]}`,
		`{"patternProperties":{"a":{}}}`, `{"propertyNames":{"maxLength":1}}`, `{"unevaluatedProperties":false}`,
	} {
		s, err := CompileSchema(json.RawMessage(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if s.plain != nil {
			t.Errorf("%s has a shape", text)
		}
	}
}
