package effect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// doubling is a schema whose visits double with each of n definitions. top is what holds the first of them; where the
// others branch is the caller's.
func doubling(n int, top string, branch func(next string) string, last string) string {
	ref := func(i int) string { return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i) }
	var defs strings.Builder
	for i := range n {
		fmt.Fprintf(&defs, `"d%d":%s,`, i, branch(ref(i+1)))
	}
	return fmt.Sprintf(`{%s,"$defs":{%s"d%d":%s}}`, fmt.Sprintf(top, ref(0)), &defs, n, last)
}

// No schema decides how long the host takes: without the meter, each of these takes days, which no test run waits for.
func TestASchemaIsPaidFor(t *testing.T) {
	twice := func(format string) func(string) string {
		return func(next string) string { return fmt.Sprintf(format, next, next) }
	}
	const plain = `"allOf":[%s]`
	list := "[" + strings.Repeat("1,", 100_000) + "1]"
	for name, c := range map[string]struct{ schema, doc string }{
		"all of":             {doubling(60, plain, twice(`{"allOf":[%s,%s]}`), `true`), `{}`},
		"all of, that fail":  {doubling(60, plain, twice(`{"allOf":[%s,%s]}`), `false`), `{}`},
		"any of, that fail":  {doubling(60, plain, twice(`{"anyOf":[%s,%s]}`), `{"type":"string"}`), `{}`},
		"one of":             {doubling(60, plain, twice(`{"oneOf":[%s,{"not":%s}]}`), `{"const":1}`), `{}`},
		"not dependent":      {doubling(60, `"not":%s`, twice(`{"dependentSchemas":{"a":%s,"b":%s}}`), `false`), `{"a":1,"b":1}`},
		"if and then":        {doubling(60, plain, twice(`{"if":%s,"then":%s}`), `true`), `{}`},
		"pattern properties": {doubling(30, plain, twice(`{"patternProperties":{"a":%s,".":%s}}`), `true`), strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30)},
		"a large pattern":    {`{"pattern":"(a?){900}(b?){900}(x|y|z|a){900}$"}`, `"` + strings.Repeat("a", 1<<20) + `c"`},
		"many choices":       {`{"items":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"string"},`, 3_000), ",") + `]}}`, list},
		"choices of lists":   {`{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"items":{"type":"string"}},`, 2_000), ",") + `]}`, list},
		"choices of words":   {`{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"items":{"enum":[5,6,7,8,9]}},`, 1_000), ",") + `]}`, list},
		"a long enum":        {`{"items":{"enum":[` + strings.TrimSuffix(strings.Repeat("2,", 20_000), ",") + `]}}`, list},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := CompileSchema([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Check([]byte(c.doc)); !slices.Equal(got, []SchemaFault{costly}) {
				t.Errorf("answered %v", got)
			}
			if got := s.Check([]byte(c.doc)); !slices.Equal(got, []SchemaFault{costly}) {
				t.Errorf("the second time: %v", got)
			}
		})
	}
	honest, err := CompileSchema([]byte(`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer","minimum":1},{"$ref":"#"}]},"maxItems":200000}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := honest.Check([]byte("[" + list[:100_000] + "1]]")); len(got) != 0 {
		t.Errorf("an ordinary document of 100 kB: %v", got)
	}
	if _, err := CompileSchema([]byte(`{"$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x"}}}`)); err == nil {
		t.Error("a dynamic reference was accepted, whose target is not known before it is followed")
	}
}

func TestNumbersOfAResultAreOrdinary(t *testing.T) {
	for doc, ok := range map[string]bool{
		`[1,-0.5,1e308,5e-324,12345678901234567890,0.1]`: true,
		`{"a":1e309}`:                          false,
		`[1e999999]`:                           false,
		`[1e-999999]`:                          false,
		`[1e99999999999999999999]`:             false,
		`[0.` + strings.Repeat("1", 500) + `]`: false,
		`[` + strings.Repeat("9", 500) + `]`:   false,
	} {
		if _, err := readStrict(nil, []byte(doc)); (err == nil) != ok {
			t.Errorf("%.40s: %v", doc, err)
		}
	}
}
