package guestbuild

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Symbols is what a wasm binary offers and wants.
type Symbols struct {
	Exports []string // functions, in the binary's order
	Imports []string // module.name, of every kind, in the binary's order
}

// ErrNotModule is for bytes that do not begin like a core wasm module.
var ErrNotModule = errors.New("not a core WebAssembly module (version 1)")

// Bounds of one binary, well above what a Go guest has.
const (
	maxSymbols    = 4096
	maxSymbolName = 512
)

// Section ids and kinds of the binary format
// (https://webassembly.github.io/spec/core/binary/modules.html).
const (
	sectionCustom = 0
	sectionImport = 2
	sectionExport = 7

	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
)

// ReadSymbols walks the sections of a binary and reads two of them. It checks
// each length against the bytes that are there before it uses it, and nothing
// else: validating a module is the engine's part.
func ReadSymbols(wasm []byte) (Symbols, error) {
	const magic = "\x00asm\x01\x00\x00\x00"
	var s Symbols
	if len(wasm) < len(magic) || string(wasm[:len(magic)]) != magic {
		return s, ErrNotModule
	}
	r := reader{wasm[len(magic):]}
	seen := map[byte]bool{}
	for len(r.left) > 0 {
		id, err := r.byte()
		if err != nil {
			return s, err
		}
		body, err := r.vector()
		if err != nil {
			return s, fmt.Errorf("section %d: %w", id, err)
		}
		if id != sectionCustom && seen[id] {
			return s, fmt.Errorf("section %d is there twice", id)
		}
		seen[id] = true
		switch id {
		case sectionImport:
			s.Imports, err = entries(body, readImport)
		case sectionExport:
			s.Exports, err = entries(body, readExport)
		}
		if err != nil {
			return s, fmt.Errorf("section %d: %w", id, err)
		}
	}
	return s, nil
}

// entries reads a counted list; an entry may give no name.
func entries(body []byte, read func(*reader) (string, error)) ([]string, error) {
	r := reader{body}
	n, err := r.u32()
	if err != nil {
		return nil, err
	}
	if n > maxSymbols || int(n) > len(r.left) {
		return nil, fmt.Errorf("says it has %d entries", n)
	}
	var out []string
	for range n {
		name, err := read(&r)
		if err != nil {
			return nil, err
		}
		if name != "" {
			out = append(out, name)
		}
	}
	if len(r.left) > 0 {
		return nil, errors.New("has bytes after its last entry")
	}
	return out, nil
}

func readImport(r *reader) (string, error) {
	module, err := r.name()
	if err != nil {
		return "", err
	}
	name, err := r.name()
	if err != nil {
		return "", err
	}
	return module + "." + name, r.importKind()
}

func readExport(r *reader) (string, error) {
	name, err := r.name()
	if err != nil {
		return "", err
	}
	kind, err := r.byte()
	if err != nil {
		return "", err
	}
	if _, err := r.u32(); err != nil {
		return "", err
	}
	if kind != kindFunc {
		return "", nil
	}
	return name, nil
}

// reader takes bytes from the front.
type reader struct{ left []byte }

var errShort = errors.New("ends too early")

func (r *reader) byte() (byte, error) {
	if len(r.left) == 0 {
		return 0, errShort
	}
	b := r.left[0]
	r.left = r.left[1:]
	return b, nil
}

// u32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) u32() (uint32, error) {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b, err := r.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v), nil
		}
	}
	return 0, errors.New("a number has more than 32 bits")
}

// vector reads a length and that many bytes.
func (r *reader) vector() ([]byte, error) {
	n, err := r.u32()
	if err != nil {
		return nil, err
	}
	if uint64(n) > uint64(len(r.left)) {
		return nil, errShort
	}
	v := r.left[:n]
	r.left = r.left[n:]
	return v, nil
}

func (r *reader) name() (string, error) {
	b, err := r.vector()
	switch {
	case err != nil:
		return "", err
	case len(b) > maxSymbolName:
		return "", fmt.Errorf("a name has %d bytes", len(b))
	case !utf8.Valid(b):
		return "", errors.New("a name is not UTF-8")
	}
	return string(b), nil
}

// importKind skips what follows an import's names.
func (r *reader) importKind() error {
	kind, err := r.byte()
	if err != nil {
		return err
	}
	switch kind {
	case kindFunc:
		_, err = r.u32()
	case kindTable:
		if _, err = r.byte(); err == nil {
			err = r.limits()
		}
	case kindMemory:
		err = r.limits()
	case kindGlobal:
		if _, err = r.byte(); err == nil {
			_, err = r.byte()
		}
	default:
		err = fmt.Errorf("kind %d of an import is not known", kind)
	}
	return err
}

func (r *reader) limits() error {
	flags, err := r.byte()
	if err != nil {
		return err
	}
	if _, err := r.u32(); err != nil {
		return err
	}
	if flags&1 != 0 {
		_, err = r.u32()
	}
	return err
}
