package sandbox

import (
	"bytes"
	"crypto/sha256"
	le "encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
)

// prepareVersion names what read and metered make of a module. It is part of the name of what is kept on disk: a change
// of the verifier or the meter must raise it, and a test that pins their output says so.
const prepareVersion = "3"

// readyModule is a verified, metered module with what the original declared.
type readyModule struct {
	declares *binary
	code     []byte
}

// prepare verifies and meters a module, or finds what an earlier process made of the same bytes. What is kept lies in
// the owner-only folder of compiled code and is trusted as that is; its own digest guards against a cut file. A file
// that does not read is made anew; one that cannot be written costs time and nothing else.
//
// check holds what the module declares against its plugin and is asked each time, before anything is metered. The
// error is check's or a [*wasmbin.Refusal].
func (e *Engine) prepare(digest string, wasm []byte, check func(*binary) *LoadError) (readyModule, error) {
	if p, ok := e.kept(digest); ok {
		if le := check(p.declares); le != nil {
			return readyModule{}, le
		}
		return p, nil
	}
	m, err := read(wasm)
	if err != nil {
		return readyModule{}, err
	}
	p := readyModule{declares: declared(m)}
	if le := check(p.declares); le != nil {
		return readyModule{}, le
	}
	if p.code, err = metered(m); err != nil {
		return readyModule{}, err
	}
	_ = e.keep(digest, p)
	return p, nil
}

func (e *Engine) preparedPath(digest string) string {
	return filepath.Join(e.cacheDir, "prepared-"+prepareVersion, digest)
}

// kept reads what an earlier process prepared.
func (e *Engine) kept(digest string) (readyModule, bool) {
	if e.cacheDir == "" {
		return readyModule{}, false
	}
	data, err := os.ReadFile(e.preparedPath(digest))
	if err != nil {
		return readyModule{}, false
	}
	return decodePrepared(data)
}

// keep writes by rename, so that another process never sees half of it.
func (e *Engine) keep(digest string, p readyModule) error {
	if e.cacheDir == "" {
		return nil
	}
	data, err := encodePrepared(p)
	if err != nil {
		return err
	}
	dir := filepath.Dir(e.preparedPath(digest))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("sandbox: keep a prepared module: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".new-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("sandbox: keep a prepared module: %w", err)
	}
	_, err = tmp.Write(data)
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(tmp.Name(), e.preparedPath(digest))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("sandbox: keep a prepared module: %w", err)
	}
	return nil
}

// factsOnDisk is the written form of a [binary].
type factsOnDisk struct {
	Types   [][2][]byte `json:"types"`
	Imports []struct {
		Module, Name string
		Kind         wasmbin.Kind
		Type         uint32
	} `json:"imports"`
	Funcs   []uint32 `json:"funcs"`
	Exports []struct {
		Name  string
		Kind  wasmbin.Kind
		Index uint32
	} `json:"exports"`
	HasMemory bool     `json:"has_memory"`
	MemoryMin uint32   `json:"memory_min"`
	Start     bool     `json:"start"`
	Globals   []string `json:"globals"`
	Plain     string   `json:"plain"`
}

// encodePrepared is the sha256 of the rest, the length of the facts as four bytes, the facts as JSON, and the code.
func encodePrepared(p readyModule) ([]byte, error) {
	var d factsOnDisk
	for _, t := range p.declares.types {
		d.Types = append(d.Types, [2][]byte{t.params, t.results})
	}
	d.Imports = make([]struct {
		Module, Name string
		Kind         wasmbin.Kind
		Type         uint32
	}, len(p.declares.imports))
	for i, imp := range p.declares.imports {
		d.Imports[i].Module, d.Imports[i].Name, d.Imports[i].Kind, d.Imports[i].Type = imp.module, imp.name, imp.kind, imp.typ
	}
	d.Exports = make([]struct {
		Name  string
		Kind  wasmbin.Kind
		Index uint32
	}, len(p.declares.exports))
	for i, exp := range p.declares.exports {
		d.Exports[i].Name, d.Exports[i].Kind, d.Exports[i].Index = exp.name, exp.kind, exp.index
	}
	d.Funcs, d.HasMemory, d.MemoryMin = p.declares.funcs, p.declares.hasMemory, p.declares.memoryMin
	d.Start, d.Globals, d.Plain = p.declares.start, p.declares.globals, p.declares.plain
	facts, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("sandbox: write down a prepared module: %w", err)
	}
	rest := le.LittleEndian.AppendUint32(nil, uint32(len(facts)))
	rest = append(append(rest, facts...), p.code...)
	sum := sha256.Sum256(rest)
	return append([]byte(hex.EncodeToString(sum[:])), rest...), nil
}

// decodePrepared is false for anything that encodePrepared did not write whole.
func decodePrepared(data []byte) (readyModule, bool) {
	const sumBytes = 2 * sha256.Size
	if len(data) < sumBytes+4 {
		return readyModule{}, false
	}
	rest := data[sumBytes:]
	sum := sha256.Sum256(rest)
	if string(data[:sumBytes]) != hex.EncodeToString(sum[:]) {
		return readyModule{}, false
	}
	n := int64(le.LittleEndian.Uint32(rest))
	if n > int64(len(rest)-4) {
		return readyModule{}, false
	}
	var d factsOnDisk
	dec := json.NewDecoder(bytes.NewReader(rest[4 : 4+n]))
	dec.DisallowUnknownFields()
	if dec.Decode(&d) != nil {
		return readyModule{}, false
	}
	f := &binary{
		funcs: d.Funcs, hasMemory: d.HasMemory, memoryMin: d.MemoryMin,
		start: d.Start, globals: d.Globals, plain: d.Plain,
	}
	for _, t := range d.Types {
		f.types = append(f.types, funcType{t[0], t[1]})
	}
	for _, i := range d.Imports {
		f.imports = append(f.imports, binImport{i.Module, i.Name, i.Kind, i.Type})
	}
	for _, x := range d.Exports {
		f.exports = append(f.exports, binExport{x.Name, x.Kind, x.Index})
	}
	return readyModule{f, rest[4+n:]}, true
}
