package sandbox

import (
	"reflect"
	"slices"
	"testing"
)

func sampleRecord(t testing.TB) record {
	ready, err := prepare(fixture(t, "state.wasm"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ready.declares.start, ready.declares.plain = true, "it is a test" // so that no fact is left out unseen
	if v := reflect.ValueOf(*ready.declares); slices.ContainsFunc(fields(v), reflect.Value.IsZero) {
		t.Fatalf("a fact is zero: %+v", v)
	}
	digest := digestOf(fixture(t, "state.wasm"))
	return record{
		module: digest, folder: digest + ".1", facts: ready.declares,
		wasm: fileMark{meteredName, 3, digest}, code: fileMark{"wazero-dev-amd64-linux/0a", 4, digest}, stack: 5,
	}
}

func fields(v reflect.Value) (fs []reflect.Value) {
	for i := range v.NumField() {
		fs = append(fs, v.Field(i))
	}
	return fs
}

// What is written down is what is read, facts and files.
func TestARecordIsReadAsItWasWritten(t *testing.T) {
	r := sampleRecord(t)
	data, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	back, ok := decodeRecord(data)
	if !ok || !reflect.DeepEqual(back, r) {
		t.Fatalf("%v, read %+v, want %+v", ok, back, r)
	}
}

// A record in which a single bit is another is none.
func TestAChangedRecordIsNone(t *testing.T) {
	data, err := sampleRecord(t).encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] ^= 1
		if _, ok := decodeRecord(data); ok {
			t.Errorf("byte %d of %d may be changed", i, len(data))
		}
		data[i] ^= 1
	}
}

// A record whose names lead out of its entry is none.
func TestARecordStaysInItsEntry(t *testing.T) {
	for name, change := range map[string]func(*record){
		"folder up":         func(r *record) { r.folder = ".." },
		"folder elsewhere":  func(r *record) { r.folder = "/tmp" },
		"folder of another": func(r *record) { r.folder = "0" + r.folder[1:] + "x" },
		"folder below":      func(r *record) { r.folder = r.module + ".1/../.." },
		"module":            func(r *record) { r.module, r.folder = "x", "x.1" },
		"wasm":              func(r *record) { r.wasm.Name = "../module.wasm" },
		"code up":           func(r *record) { r.code.Name = "../0a" },
		"code absolute":     func(r *record) { r.code.Name = "/tmp/0a" },
		"code at the top":   func(r *record) { r.code.Name = "0a" },
		"code deep":         func(r *record) { r.code.Name = "a/b/c" },
		"code is a dot":     func(r *record) { r.code.Name = "a/.." },
		"code is empty":     func(r *record) { r.code.Name = "" },
	} {
		r := sampleRecord(t)
		change(&r)
		data, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := decodeRecord(data); ok {
			t.Errorf("%s: was taken", name)
		}
	}
}

// Whatever is decoded was encoded whole: a mutated record is refused or equal.
func FuzzDecodeRecord(f *testing.F) {
	whole, err := sampleRecord(f).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:80])
	f.Add(whole[:len(whole)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		r, ok := decodeRecord(data)
		if !ok {
			return
		}
		again, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, ok := decodeRecord(again); !ok || !reflect.DeepEqual(back, r) {
			t.Fatal("what was accepted does not survive being written again")
		}
	})
}
