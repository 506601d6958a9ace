package guestbuild_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
)

const header = "\x00asm\x01\x00\x00\x00"

// section writes one section with a one-byte length.
func section(id byte, body string) string { return string([]byte{id, byte(len(body))}) + body }

func TestReadSymbols(t *testing.T) {
	wasm := header +
		section(0, "\x04nameanything") +
		section(2, "\x05"+
			"\x03env\x01f\x00\x07"+ // function of type 7
			"\x03env\x01t\x01\x70\x01\x02\x05"+ // table, 2 to 5
			"\x03env\x01m\x02\x00\x01"+ // memory from 1
			"\x03env\x01g\x03\x7f\x01"+ // mutable i32
			"\x00\x00\x00\x80\x01") + // names may be empty
		section(7, "\x03"+"\x06memory\x02\x00"+"\x03run\x00\x05"+"\x00\x00\x06")
	s, err := guestbuild.ReadSymbols([]byte(wasm))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Imports, " "); got != "env.f env.t env.m env.g ." {
		t.Errorf("imports are %s", got)
	}
	if got := strings.Join(s.Exports, " "); got != "run" {
		t.Errorf("exports are %s", got)
	}
}

func TestReadSymbolsRefuses(t *testing.T) {
	for name, wasm := range map[string]string{
		"empty":                     "",
		"not wasm":                  "#!/bin/sh\n",
		"a component":               "\x00asm\x0d\x00\x01\x00",
		"section beyond the end":    header + "\x02\x05\x00",
		"length of 36 bits":         header + "\x02\xff\xff\xff\xff\xff\x00",
		"length over 32 bits":       header + "\x02\xff\xff\xff\xff\x1f",
		"length that never ends":    header + "\x02\x80\x80",
		"4 thousand million":        header + section(2, "\xf0\xff\xff\xff\x0f"),
		"more exports than bytes":   header + section(7, "\x40\x01a\x00\x00"),
		"name beyond the section":   header + section(7, "\x01\x09a\x00\x00"),
		"name not UTF-8":            header + section(7, "\x01\x01\xff\x00\x00"),
		"import of unknown kind":    header + section(2, "\x01\x01a\x01b\x09\x00"),
		"bytes after the last":      header + section(7, "\x01\x01a\x00\x00\x00"),
		"imports twice":             header + section(2, "\x00") + section(2, "\x00"),
		"name of a thousand bytes":  header + "\x07\xee\x07\x01\xe8\x07" + strings.Repeat("a", 1000) + "\x00\x00",
		"more exports than allowed": header + "\x07\x83\x28\x81\x28" + strings.Repeat("\x00", 5121),
	} {
		if s, err := guestbuild.ReadSymbols([]byte(wasm)); err == nil {
			t.Errorf("%s was read as %+v", name, s)
		}
	}
	if _, err := guestbuild.ReadSymbols([]byte("MZ")); !errors.Is(err, guestbuild.ErrNotModule) {
		t.Errorf("got %v", err)
	}
}

// Whatever the bytes, reading ends, and what it finds was in the bytes.
func FuzzReadSymbols(f *testing.F) {
	f.Add([]byte(header + section(2, "\x01\x03env\x01f\x00\x07") + section(7, "\x01\x03run\x00\x05")))
	f.Add([]byte(header + section(2, "\xf0\xff\xff\xff\x0f")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, wasm []byte) {
		s, err := guestbuild.ReadSymbols(wasm)
		if err != nil {
			return
		}
		total := 0
		for _, name := range s.Exports {
			total += len(name) + 3 // length, kind, index
			if !strings.Contains(string(wasm), name) {
				t.Fatalf("export %q is not in the binary", name)
			}
		}
		for _, name := range s.Imports {
			total += len(name) + 3 // two lengths for one dot, kind, index
		}
		if total > len(wasm) {
			t.Fatalf("%d bytes of names in %d bytes", total, len(wasm))
		}
	})
}
