package effect

import (
	"bytes"
	"testing"
)

func TestACompiledSchemaIsOneTurnsAtATime(t *testing.T) {
	var all schemas
	raw, other := []byte(`{"type":"object"}`), []byte(`{"type":"array"}`)
	take := func(raw []byte) *Schema {
		t.Helper()
		s, err := all.take(raw)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := take(raw), take(raw)
	if a == b {
		t.Fatal("two turns have one schema")
	}
	all.give(raw, a)
	all.give(raw, b)
	c, d, e := take(raw), take(raw), take(raw)
	if c == d || c != a && c != b || d != a && d != b {
		t.Error("what was given back is not taken again, each by one turn")
	}
	if e == a || e == b || take(other) == a {
		t.Error("a schema in use was given to another turn")
	}
	if faults := c.Check([]byte(`[]`)); len(faults) != 1 {
		t.Errorf("%v", faults)
	}
	if _, err := all.take([]byte(`{"type":1}`)); err == nil {
		t.Error("a schema that is none was compiled")
	}
}

func TestKeptSchemasAreBounded(t *testing.T) {
	var all schemas
	one := &Schema{}
	raw := bytes.Repeat([]byte("x"), 1<<20)
	for n := range 20 {
		raw[0] = byte(n)
		all.give(raw, one)
		if all.bytes > maxPooled {
			t.Fatalf("%d bytes are kept", all.bytes)
		}
	}
	if len(all.free) == 0 || len(all.free) > 4 {
		t.Errorf("%d documents are kept", len(all.free))
	}
}
