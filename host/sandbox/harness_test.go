package sandbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	"go.uber.org/goleak"
)

//go:generate sh testdata/build.sh

// TestMain lets this test binary be the compiler that the tests start.
func TestMain(m *testing.M) {
	if sandbox.IsCompileChild(os.Args) {
		os.Exit(sandbox.CompileChild(os.Args, os.Stdin, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// frozen is the clock of tests that do not look at time.
var frozen = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func open(t testing.TB, cfg sandbox.Config) *sandbox.Engine {
	t.Helper()
	e, err := sandbox.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("testdata", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// everything is all abilities.
const everything = sandbox.MayReadFiles | sandbox.MayWriteFiles | sandbox.MayKeepValues | sandbox.MayFetch | sandbox.MaySign

// small are limits under which every outcome is reached soon.
func small() sandbox.Limits {
	l := sandbox.LimitsOf(wire.Limits{})
	l.Memory = 4 << 20
	l.Deadline = time.Minute
	l.Output = 1 << 20
	l.HostCalls = 500
	return l
}

func load(t testing.TB, e *sandbox.Engine, name string, exports ...string) *sandbox.Plugin {
	t.Helper()
	return loadWith(t, e, sandbox.Foreign{Name: name, Wasm: fixture(t, name), Exports: exports, Granted: everything, Limits: small()})
}

func loadWith(t testing.TB, e *sandbox.Engine, f sandbox.Foreign) *sandbox.Plugin {
	t.Helper()
	p, err := e.LoadForeign(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// want checks status and reason of an outcome.
func want(t testing.TB, out sandbox.Outcome, status sandbox.Status, reason string) {
	t.Helper()
	if out.Status != status || out.Reason != reason {
		t.Fatalf("outcome %s (%s), want %s (%s); text %q, err %v", out.Status, out.Reason, status, reason, out.Text, out.Err)
	}
	if (out.Output != nil) && status != sandbox.OK {
		t.Fatalf("outcome %s comes with an output", out.Status)
	}
}

// wantRefused checks the code and the whole sentence of a load error.
func wantRefused(t testing.TB, err error, code sandbox.LoadCode, sentence string) {
	t.Helper()
	var le *sandbox.LoadError
	if !errors.As(err, &le) {
		t.Fatalf("error %v, want a LoadError", err)
	}
	if le.Code != code || le.Sentence != sentence {
		t.Errorf("refused with %s:\n  %s\nwant %s:\n  %s", le.Code, le.Sentence, code, sentence)
	}
}

func digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// decode reads a header of a reply, which has no member but those of v.
func decode(data []byte, v any) error {
	return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
}
