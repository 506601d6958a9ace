package wasmbin

import "testing"

// TestNamesFollowTheirFunctions meters a module with one import and two
// functions, whose names and those of their locals move up by one.
func TestNamesFollowTheirFunctions(t *testing.T) {
	names := "\x00\x02\x01m" + // module
		"\x01\x0a\x03\x00\x01i\x01\x01f\x02\x01g" + // functions
		"\x02\x06\x01\x02\x01\x00\x01x" + // locals of g
		"\x07\x04\x01\x00\x01v" // globals
	m := &Module{
		Types:   []FuncType{{}},
		Imports: []Import{{Module: "a", Name: "i"}},
		Funcs:   []uint32{0, 0},
		Bodies:  []Body{{Code: []byte{opEnd}}, {Code: []byte{opEnd}}},
		Customs: []Custom{
			{Name: "producers", Bytes: []byte("kept")},
			{Name: "name", Bytes: []byte(names), After: secCode},
			{Name: "empty", After: secData},
		},
	}
	opt := Options{YieldModule: "h", YieldName: "y", FuelExport: "fuel"}
	out, report, err := Meter(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	want := "\x00\x02\x01m" +
		"\x01\x0f\x04\x00\x01i\x01\x03h.y\x02\x01f\x03\x01g" +
		"\x02\x06\x01\x03\x01\x00\x01x" +
		"\x07\x04\x01\x00\x01v"
	if report.YieldFunc != 1 || len(out.Customs) != 2 || string(out.Customs[0].Bytes) != "kept" || string(out.Customs[1].Bytes) != want {
		t.Errorf("yield is function %d, custom sections %q", report.YieldFunc, out.Customs)
	}
	if err := Verify(out.Encode(), DefaultLimits()); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"\x01\x05\x01\x00", "\x01\x02\x01\x00\x00", "\x01\x05" + huge, "\x02\x07\x01\x00" + huge} {
		m.Customs = []Custom{{Name: "name", Bytes: []byte(bad)}}
		if out, _, err := Meter(m, opt); err != nil || len(out.Customs) != 0 {
			t.Errorf("a name section %q that cannot be read became %q (%v)", bad, out.Customs, err)
		}
	}
}
