package plugintest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// full is JSON Schema 2020-12 as the host checks it, and what an author with schemas of one's own gives to Schemas.
func full(schema, instance []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	const url = "plugin:schema"
	if err := c.AddResource(url, doc); err != nil {
		return err
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// schemas is every keyword that is checked, with values inside and outside.
var schemas = map[string][]string{
	`{}`:                         {`1`, `null`, `"x"`, `not json`, `1 2`, ``},
	`{"type":"string"}`:          {`"x"`, `1`, `null`, `{}`},
	`{"type":"boolean"}`:         {`true`, `"true"`, `0`},
	`{"type":"integer"}`:         {`1`, `1.0`, `1e2`, `1.5`, `"1"`},
	`{"type":"number"}`:          {`1`, `1.5`, `"1"`, `true`},
	`{"type":"null"}`:            {`null`, `0`},
	`{"enum":["a",1]}`:           {`"a"`, `1`, `1.0`, `"b"`, `2`, `null`},
	`{"pattern":"^[a-c]"}`:       {`"abc"`, `"xa"`, `1`},
	`{"type":["string","null"]}`: {`null`, `"x"`, `1`, `[]`},
	`{"type":"integer","minimum":-2,"maximum":9}`:                    {`-2`, `9`, `-3`, `10`, `9.5`},
	`{"type":"number","minimum":0.1,"maximum":0.3}`:                  {`0.1`, `0.3`, `0.30000000000000001`, `0.09`, `1e-1`},
	`{"type":"string","minLength":2,"maxLength":3}`:                  {`"ä"`, `"äö"`, `"äöü"`, `"äöüx"`, `""`},
	`{"type":"array","minItems":1,"maxItems":2}`:                     {`[]`, `[1]`, `[1,"x"]`, `[1,2,3]`, `{}`},
	`{"type":"array","items":{"type":"integer"}}`:                    {`[]`, `[1,2]`, `[1,"x"]`, `[null]`},
	`{"type":"string","format":"date-time"}`:                         {`"2030-01-02T03:04:05Z"`, `"2030-01-02T03:04:05.25+01:00"`, `"2030-01-02"`, `"x"`},
	`{"type":"string","format":"date"}`:                              {`"2030-01-02"`, `"2030-02-30"`, `"x"`},
	`{"type":"string","format":"uri"}`:                               {`"https://a.example/x?y"`, `"/x"`, `"x"`},
	`{"type":"string","format":"email"}`:                             {`"a@b.example"`, `"a"`, `"A <a@b.example>"`},
	`{"type":"string","format":"ipv4"}`:                              {`"192.0.2.1"`, `"::1"`, `"192.0.2"`},
	`{"type":"string","format":"ipv6"}`:                              {`"::1"`, `"192.0.2.1"`, `"fe80::1%eth0"`},
	`{"type":"string","format":"uuid"}`:                              {`"01234567-89ab-cdef-0123-456789abcdef"`, `"0123456789abcdef0123456789abcdef"`},
	`{"anyOf":[{"type":"array","items":{}},{"type":"null"}]}`:        {`[]`, `null`, `1`},
	`{"type":"object","additionalProperties":{"type":"integer"}}`:    {`{}`, `{"a":1}`, `{"a":"x"}`},
	`{"type":"object","additionalProperties":true}`:                  {`{}`, `{"a":1}`, `[]`},
	`{"type":"string","contentEncoding":"base64","description":"x"}`: {`"AA=="`, `1`},
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"c":{"type":"integer","default":1}},"required":["c"],"additionalProperties":false}},"required":["a"],"additionalProperties":false}`: {
		`{"a":"x"}`, `{}`, `{"a":1}`, `{"a":"x","z":1}`, `{"a":"x","b":{}}`, `{"a":"x","b":{"c":2}}`, `{"a":"x","b":{"c":2,"d":1}}`, `{"a":"x","b":null}`, `null`, `[]`,
	},
}

func TestTheOwnCheckAgreesWithJSONSchema(t *testing.T) {
	for schema, values := range schemas {
		yes, no := 0, 0
		for _, v := range values {
			own, theirs := derived([]byte(schema), []byte(v)), full([]byte(schema), []byte(v))
			if (own == nil) != (theirs == nil) {
				t.Errorf("%s of %s: ours says %v, JSON Schema says %v", schema, v, own, theirs)
			}
			if own == nil {
				yes++
			} else {
				no++
			}
		}
		if yes == 0 || no == 0 {
			t.Errorf("%s: %d values fit and %d do not; the list is to have both", schema, yes, no)
		}
	}
}

// A rule that is not checked must not look like one that holds.
func TestWhatIsNotCheckedIsSaid(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","oneOf":[{}]}`:                        `the keyword "oneOf"`,
		`{"properties":{"a":{"items":{"multipleOf":2}}}}`:       `the keyword "multipleOf"`,
		`{"anyOf":[{"$ref":"#/x"}]}`:                            `the keyword "$ref"`,
		`{"additionalProperties":{"format":"hostname"}}`:        `the format "hostname"`,
		`{"items":[{}]}`:                                        "a schema that is neither an object nor true or false",
		`{"type":"string","format":"date-time","minLength":1,}`: "a text that is not JSON",
	} {
		err := derived([]byte(schema), []byte(`{}`))
		var unknown *unknownKeyword
		if !errors.As(err, &unknown) || unknown.what != want {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}
