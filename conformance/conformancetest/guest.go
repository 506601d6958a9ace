// Package conformancetest gives tests the bundled plugins as they really are: built once by the one builder, compiled
// through one shared cache.
//
// It owns the folders .build/guests and .build/wazero of a checkout, and builds one guest at a time across all test
// processes, so that `go test ./...` compiles each guest once. The builder reads every source file in the test's own
// process, which is what makes `go test` run a test again when a guest changed. What it leaves on disk is a cache.
package conformancetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/b3abf3ee/portcullis/conformance/checkout"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
)

// Root is the checkout that the test runs in.
func Root(t testing.TB) string { return checkout.Root(t) }

// CacheDir is the compile cache that all tests share, made owner-only.
func CacheDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(Root(t), ".build", "wazero")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// BeCompiler does not return in a process that [Compiler] or [Keeper] started. The TestMain of a package that uses this
// one begins with it.
func BeCompiler() {
	if process.IsKeeper(os.Args) {
		os.Exit(process.Keep())
	}
	if sandbox.IsCompileChild(os.Args) {
		os.Exit(sandbox.CompileChild(os.Args, os.Stdin, os.Stderr))
	}
}

// Compiler compiles plugins as the program does: in this very program, started again.
func Compiler(t testing.TB) sandbox.Compiler {
	t.Helper()
	c, err := sandbox.SelfCompiler()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Plugin builds plugins/tools/<name> if its sources changed and returns the folder with plugin.json and the binary.
func Plugin(t testing.TB, name string) string {
	t.Helper()
	return Build(t, filepath.Join(Root(t), "plugins", "tools", name), name)
}

// Build builds the guest in dir into .build/guests/<name>, one guest at a time over all processes.
func Build(t testing.TB, dir, name string) string {
	t.Helper()
	out := filepath.Join(Root(t), ".build", "guests", name)
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(filepath.Join(filepath.Dir(out), ".lock"))
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	if ok, err := lock.TryLockContext(ctx, 50*time.Millisecond); !ok {
		t.Fatalf("wait for another build: %v", err)
	}
	defer lock.Unlock()
	cache, compiler := CacheDir(t), Compiler(t)
	_, err := guestbuild.Build(ctx, guestbuild.Options{
		Dir: dir, OutDir: out, Shorten: wasmbin.Shorten,
		Describe: func(ctx context.Context, wasm []byte) ([]byte, error) {
			return host.Describe(ctx, cache, compiler, wasm)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
