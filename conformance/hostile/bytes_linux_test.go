package hostile_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// TestHostileBytes loads a good module cut at every byte: each is refused with one of the codes and a sentence. What
// bytes of any other kind do is for the fuzz targets of host/sandbox and its wasmbin.
func TestHostileBytes(t *testing.T) {
	g := guest{name: goodName}
	good := g.module(t, "authority")
	e, err := sandbox.Open(t.Context(), sandbox.Config{CacheDir: t.TempDir(), Compiler: conformancetest.Compiler(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	borders := map[int]bool{} // of sections: what is left may be a module that has no data
	for i := 8; i < len(good); {
		borders[i] = true
		size, n := binary.Uvarint(good[i+1:])
		i += 1 + n + int(size)
	}
	for i := range good {
		p, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "bytes", Wasm: good[:i:i], Exports: []string{wire.ExportInvoke}})
		if err == nil {
			if !borders[i] {
				t.Errorf("cut at byte %d of %d it was loaded", i, len(good))
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		var le *sandbox.LoadError
		if !errors.As(err, &le) || le.Code == "" || le.Sentence == "" || le.Code == sandbox.CodeUnavailable || le.Code == sandbox.CodeUncompiled {
			t.Errorf("cut at byte %d: %v", i, err)
		}
	}
}
