package guestbuild_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
)

// What the linker writes loses a quarter and more. Code and lines apart, which have tests of their own, it is nothing
// but buckets that the runtime never reads. That it still runs and collects is what every test of a guest shows.
func TestABuildLeavesOutOnlyWhatNothingReads(t *testing.T) {
	before := linkSample(t)
	after := guestbuild.Trim(before, wasmbin.Shorten)
	if len(after) > len(before)*3/4 {
		t.Errorf("%d of %d bytes are left: see whether this version of Go lays its table of functions out as before", len(after), len(before))
	}
	checkTrimmed(t, before, after)
}

// linkSample is what the linker writes of the sample.
func linkSample(t *testing.T) []byte {
	t.Helper()
	linked := filepath.Join(t.TempDir(), "linked.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", linked, "./testdata/sample")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wasm, err := os.ReadFile(linked)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// checkTrimmed holds two binaries against each other: the same module, and memory that differs in buckets alone.
func checkTrimmed(t *testing.T, before, after []byte) {
	t.Helper()
	old, now := guestbuild.Memory(before), guestbuild.Memory(after)
	at, buckets, ok := guestbuild.Table(old)
	if !ok || len(now) > len(old) {
		t.Fatalf("a table: %v; %d bytes of memory, were %d", ok, len(now), len(old))
	}
	now = append(now, make([]byte, len(old)-len(now))...)
	guestbuild.TrimLines(old)
	for i := range old {
		if old[i] == now[i] {
			continue
		}
		if bucket := (int64(i) - at) / 20; int64(i) < at || bucket >= int64(buckets) || bucket%16 == 0 || now[i] != 0 {
			t.Fatalf("byte %d of memory was %d and is %d", i, old[i], now[i])
		}
	}
}

// linkedLike is a module whose memory holds what trim looks for, for so many functions.
func linkedLike(funcs int, change func(memory []byte)) []byte {
	const pcHeader, module, table = 0x100, 0x200, 0x400
	memory := make([]byte, table+20*16*(funcs-1)+1)
	copy(memory[pcHeader:], "\xf1\xff\xff\xff\x00\x00\x01\x08")
	put := binary.LittleEndian.PutUint64
	put(memory[pcHeader+8:], uint64(funcs))
	put(memory[module:], pcHeader)
	put(memory[module+136:], uint64(funcs+1))
	put(memory[module+152:], table)
	for i := range 16 * (funcs - 1) {
		binary.LittleEndian.PutUint32(memory[table+20*i:], uint32(i/16))
	}
	memory[len(memory)-1] = 1 // what stands behind
	if change != nil {
		change(memory)
	}
	var data []byte
	n := 0
	for i, b := range memory {
		if b == 0 {
			continue
		}
		data = append(data, 0, 0x41, byte(i)|0x80, byte(i>>7)|0x80, byte(i>>14), 0x0b, 1, b)
		n++
	}
	data = append(binary.AppendUvarint(nil, uint64(n)), data...)
	wasm := append([]byte(header), 11)
	return append(append(binary.AppendUvarint(wasm, uint64(len(data))), data...), 0, 2, 1, 'x')
}

func TestOnlyTheLinkersTableIsTrimmed(t *testing.T) {
	whole := linkedLike(5, nil)
	trimmed := guestbuild.Trim(whole, wasmbin.Shorten)
	if len(trimmed) >= len(whole) || !bytes.HasSuffix(trimmed, []byte("\x00\x02\x01x")) {
		t.Fatalf("%d bytes of %d are left: %q", len(trimmed), len(whole), trimmed)
	}
	checkTrimmed(t, whole, trimmed)
	if again := guestbuild.Trim(trimmed, wasmbin.Shorten); !bytes.Equal(again, trimmed) {
		t.Error("it is trimmed twice")
	}
	for name, change := range map[string]func([]byte){
		"another magic":         func(m []byte) { m[0x100] = 0xf0 },
		"another word size":     func(m []byte) { m[0x107] = 4 },
		"another count":         func(m []byte) { m[0x108]++ },
		"no functions":          func(m []byte) { m[0x108] = 0 },
		"too many functions":    func(m []byte) { m[0x10c] = 1 },
		"no module":             func(m []byte) { m[0x201] = 9 },
		"table elsewhere":       func(m []byte) { m[0x200+152] += 20 },
		"table outside":         func(m []byte) { m[0x200+158] = 1 },
		"an index":              func(m []byte) { m[0x400+20*17]++ },
		"a difference":          func(m []byte) { m[0x400+20*17+9] = 1 },
		"an index of the first": func(m []byte) { m[0x400+20*32] = 0 },
	} {
		wasm := linkedLike(5, change)
		if got := guestbuild.Trim(wasm, wasmbin.Shorten); !bytes.Equal(got, wasm) {
			t.Errorf("%s: %d bytes of %d are left", name, len(got), len(wasm))
		}
	}
}

// FuzzTrim: any bytes are left as they are, or are a module that loses buckets alone.
func FuzzTrim(f *testing.F) {
	whole := linkedLike(3, nil)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(header + "\x0b\x0a\x02\x00\x41\x00\x0b\x01a\x00\x41\x00\x0b"))
	f.Add([]byte(header + "\x0c\x01\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if after := guestbuild.Trim(wasm, wasmbin.Shorten); !bytes.Equal(after, wasm) {
			checkTrimmed(t, wasm, after)
		}
	})
}
