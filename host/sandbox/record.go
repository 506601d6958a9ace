package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
)

// record is what is written down beside the compiled form of one module: what the module declares, so that a plugin can
// be checked without reading it, and what its files must be before they are believed. It is the entry: files without a
// record are litter.
type record struct {
	module string // sha256 of the original
	folder string // beside the record; holds the two files
	wasm   fileMark
	code   fileMark
	stack  int64 // what the machine code may take of the stack, as the meter counts
	facts  *binary
}

// fileMark pins one file.
type fileMark struct {
	Name   string `json:"name"` // below the entry's folder
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // of its parts; see [digestParts]
}

// maxRecordBytes bounds a record while it is read; that of the largest module the verifier lets through is below.
const maxRecordBytes = 16 << 20

// recordOnDisk is the written form of a [record].
type recordOnDisk struct {
	Module string      `json:"module"`
	Folder string      `json:"folder"`
	Wasm   fileMark    `json:"wasm"`
	Code   fileMark    `json:"code"`
	Stack  int64       `json:"stack"`
	Facts  factsOnDisk `json:"facts"`
}

// factsOnDisk is the written form of a [binary].
type factsOnDisk struct {
	Types     [][2][]byte    `json:"types"`
	Imports   []importOnDisk `json:"imports"`
	Funcs     []uint32       `json:"funcs"`
	Exports   []exportOnDisk `json:"exports"`
	HasMemory bool           `json:"has_memory"`
	MemoryMin uint32         `json:"memory_min"`
	Start     bool           `json:"start"`
	Globals   []string       `json:"globals"`
	Plain     string         `json:"plain"`
}

type importOnDisk struct {
	Module, Name string
	Kind         wasmbin.Kind
	Type         uint32
}

type exportOnDisk struct {
	Name  string
	Kind  wasmbin.Kind
	Index uint32
}

// encode is the sha256 of the rest in hexadecimal, and JSON.
func (r record) encode() ([]byte, error) {
	d := recordOnDisk{Module: r.module, Folder: r.folder, Wasm: r.wasm, Code: r.code, Stack: r.stack, Facts: factsOnDisk{
		Funcs: r.facts.funcs, HasMemory: r.facts.hasMemory, MemoryMin: r.facts.memoryMin,
		Start: r.facts.start, Globals: r.facts.globals, Plain: r.facts.plain,
	}}
	for _, t := range r.facts.types {
		d.Facts.Types = append(d.Facts.Types, [2][]byte{t.params, t.results})
	}
	for _, i := range r.facts.imports {
		d.Facts.Imports = append(d.Facts.Imports, importOnDisk{i.module, i.name, i.kind, i.typ})
	}
	for _, x := range r.facts.exports {
		d.Facts.Exports = append(d.Facts.Exports, exportOnDisk{x.name, x.kind, x.index})
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("sandbox: write down compiled code: %w", err)
	}
	sum := sha256.Sum256(text)
	return append([]byte(hex.EncodeToString(sum[:])), text...), nil
}

// decodeRecord is false for anything that encode did not write whole, and for names that lead out of the entry.
func decodeRecord(data []byte) (record, bool) {
	const sumBytes = 2 * sha256.Size
	if len(data) < sumBytes {
		return record{}, false
	}
	text := data[sumBytes:]
	sum := sha256.Sum256(text)
	if string(data[:sumBytes]) != hex.EncodeToString(sum[:]) {
		return record{}, false
	}
	var d recordOnDisk
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if dec.Decode(&d) != nil || int(dec.InputOffset()) != len(text) {
		return record{}, false
	}
	if len(d.Module) != sumBytes || !plainName(d.Module) || !strings.HasPrefix(d.Folder, d.Module+".") || !plainName(d.Folder) || d.Wasm.Name != meteredName {
		return record{}, false
	}
	if dir, file := filepath.Split(d.Code.Name); !plainName(strings.TrimSuffix(dir, string(filepath.Separator))) || !plainName(file) {
		return record{}, false
	}
	if d.Stack <= 0 || d.Stack > maxStack {
		return record{}, false
	}
	f := &binary{
		funcs: d.Facts.Funcs, hasMemory: d.Facts.HasMemory, memoryMin: d.Facts.MemoryMin,
		start: d.Facts.Start, globals: d.Facts.Globals, plain: d.Facts.Plain,
	}
	for _, t := range d.Facts.Types {
		f.types = append(f.types, funcType{t[0], t[1]})
	}
	for _, i := range d.Facts.Imports {
		f.imports = append(f.imports, binImport{i.Module, i.Name, i.Kind, i.Type})
	}
	for _, x := range d.Facts.Exports {
		f.exports = append(f.exports, binExport{x.Name, x.Kind, x.Index})
	}
	return record{module: d.Module, folder: d.Folder, wasm: d.Wasm, code: d.Code, stack: d.Stack, facts: f}, true
}

// plainName is one element of a path that is neither empty nor a dot.
func plainName(s string) bool {
	return s != "" && strings.Trim(s, ".") != "" && !strings.ContainsAny(s, `/\`+"\x00")
}
