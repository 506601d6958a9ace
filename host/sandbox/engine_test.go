package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func TestMalformedModuleNeverReachesTheEngine(t *testing.T) {
	e := open(t, sandbox.Config{})
	wasm := []byte("\x00asm\x01\x00\x00\x00\x06\x05\xf0\xff\xff\xff\x0f") // 15 bytes, four billion globals
	_, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "bomb", Wasm: wasm, Exports: []string{"run"}})
	wantRefused(t, err, sandbox.CodeMalformed, "plugin bomb has a .wasm file this host does not accept: it says it has 4294967280 globals, but only 0 bytes follow (byte 15); build it again")
}

func TestInvalidCodeIsRefusedInOurWords(t *testing.T) {
	e := open(t, sandbox.Config{})
	wasm := importing("extism:host/env", "alloc")
	wasm = append(wasm[:len(wasm)-3:len(wasm)-3], 0x6a, 0x01, 0x0b) // i32.add of nothing
	_, err := e.LoadForeign(t.Context(), sandbox.Foreign{Name: "bad", Wasm: wasm, Exports: []string{"run"}})
	wantRefused(t, err, sandbox.CodeUncompiled, "plugin bad is not a valid module, or uses a WebAssembly proposal that this host does not run: build it for WebAssembly 2.0")
}

func TestCacheFolderMustBeOurs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("permission bits mean nothing here")
		return
	}
	dir := filepath.Join(t.TempDir(), "made")
	open(t, sandbox.Config{CacheDir: dir})
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("made with mode %v, %v", info.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o720, 0o702, 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err := sandbox.Open(t.Context(), sandbox.Config{CacheDir: dir})
		if err == nil || !strings.Contains(err.Error(), "run chmod 700 "+dir) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.Open(t.Context(), sandbox.Config{CacheDir: link}); err == nil || !strings.Contains(err.Error(), "is a link or a file") {
		t.Errorf("a link: %v", err)
	}
}

// Test binaries lose the engine's version, so that machine code of another
// version could be taken from the cache: the folder is named after it instead.
func TestCacheFolderIsNamedAfterTheEngine(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, sandbox.Config{CacheDir: dir})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("cache folder has %v, %v", entries, err)
	}
	version := strings.TrimPrefix(entries[0].Name(), "wazero-")
	if !bytes.Contains(mod, []byte("github.com/tetratelabs/wazero "+version+"\n")) {
		t.Errorf("cache is for wazero %s, go.mod has another: change engineVersion", version)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []sandbox.Config{{MaxMemoryBytes: 1}, {MaxMemoryBytes: 5 << 30}, {MaxCalls: -1}} {
		if _, err := sandbox.Open(t.Context(), cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestManyCallersOfOnePluginStayApart(t *testing.T) {
	e := open(t, sandbox.Config{MaxCalls: 4})
	p := load(t, e, "echo", "run")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				in := bytes.Repeat(fmt.Appendf(nil, "caller %d call %d;", g, i), 100+i)
				out := p.Call(t.Context(), "run", in, sandbox.CallOptions{})
				if out.Status != sandbox.OK || !bytes.Equal(out.Output, in) {
					t.Errorf("caller %d got %s and %d bytes of somebody's", g, out.Status, len(out.Output))
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestOneModuleIsSharedAndFreedByTheLast(t *testing.T) {
	e := open(t, sandbox.Config{})
	f := sandbox.Foreign{Name: "echo", Wasm: fixture(t, "echo"), Exports: []string{"run"}}
	var wg sync.WaitGroup
	plugins := make([]*sandbox.Plugin, 8)
	for i := range plugins {
		wg.Go(func() {
			var err error
			if plugins[i], err = e.LoadForeign(t.Context(), f); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, p := range plugins {
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatalf("second Close: %v", err)
		}
		want(t, p.Call(t.Context(), "run", nil, sandbox.CallOptions{}), sandbox.Refused, "closed")
		if i+1 < len(plugins) {
			want(t, plugins[i+1].Call(t.Context(), "run", nil, sandbox.CallOptions{}), sandbox.OK, "")
		}
	}
	p := loadWith(t, e, f)
	want(t, p.Call(t.Context(), "run", nil, sandbox.CallOptions{}), sandbox.OK, "")
}

func TestLoadGivesUpWithItsCaller(t *testing.T) {
	e := open(t, sandbox.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := sandbox.Foreign{Name: "echo", Wasm: fixture(t, "echo"), Exports: []string{"run"}}
	if p, err := e.LoadForeign(ctx, f); err == nil {
		defer p.Close(context.Background()) // the compilation was faster
	} else {
		wantRefused(t, err, sandbox.CodeUnavailable, "plugin echo was not loaded in time: try again with more time")
	}
	loadWith(t, e, f)
}

func TestCloseEndsRunningCalls(t *testing.T) {
	e, err := sandbox.Open(t.Context(), sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{})
	p := load(t, e, "abilities", "portcullis_http")
	result := make(chan sandbox.Outcome)
	go func() {
		result <- p.Call(context.Background(), "portcullis_http", frame(`{"method":"GET","url":"http://x"}`, ""), sandbox.CallOptions{
			Abilities: everything,
			HTTP: doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
				close(entered)
				<-ctx.Done()
				return wire.HTTPReply{}, nil, ctx.Err()
			}),
		})
	}()
	<-entered
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, <-result, sandbox.Cancelled, "")
	if err := e.Close(t.Context()); err != nil {
		t.Errorf("second Close: %v", err)
	}
	want(t, p.Call(t.Context(), "portcullis_http", nil, sandbox.CallOptions{}), sandbox.Refused, "closed")
	_, err = e.LoadForeign(t.Context(), sandbox.Foreign{Name: "echo", Wasm: fixture(t, "echo"), Exports: []string{"run"}})
	wantRefused(t, err, sandbox.CodeUnavailable, "plugin echo was not loaded: the host is closing")
}

// A port that ignores its context holds its own goroutine and nobody else: the
// call comes back, Close says so and frees nothing under it.
func TestPortThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes when all wait: a busy machine is never late
		e, err := sandbox.Open(t.Context(), sandbox.Config{Grace: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		p := load(t, e, "abilities", "portcullis_http")
		opt := sandbox.CallOptions{
			Timeout: 30 * time.Millisecond, Abilities: everything,
			HTTP: doer(func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
				<-release
				return wire.HTTPReply{Status: 200}, []byte("too late"), nil
			}),
		}
		out := p.Call(t.Context(), "portcullis_http", frame(`{"method":"GET","url":"http://x"}`, ""), opt)
		want(t, out, sandbox.TimedOut, "abandoned")
		if !out.Abandoned || !out.Entered {
			t.Errorf("%+v", out)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := e.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close while a port hangs: %v", err)
		}
		close(release)
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestPortThatPanicsOrLeavesFailsItsCallOnly(t *testing.T) {
	e := open(t, sandbox.Config{})
	p := load(t, e, "abilities", "portcullis_http")
	for name, do := range map[string]doer{
		"panic": func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) { panic("boom") },
		"nil": func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
			var reply *wire.HTTPReply
			return *reply, nil, nil
		},
		"goexit": func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
			runtime.Goexit()
			return wire.HTTPReply{}, nil, nil
		},
	} {
		out := p.Call(t.Context(), "portcullis_http", frame(`{"method":"GET","url":"http://x"}`, ""), sandbox.CallOptions{Abilities: everything, HTTP: do})
		want(t, out, sandbox.HostFailure, "host_panic")
		if strings.Contains(out.Text, "boom") {
			t.Errorf("%s: the port's words reached the text: %q", name, out.Text)
		}
	}
}

func TestCallFromInsideACallIsRefused(t *testing.T) {
	e := open(t, sandbox.Config{MaxCalls: 1})
	p := load(t, e, "abilities", "portcullis_http")
	var inner sandbox.Outcome
	out := p.Call(t.Context(), "portcullis_http", frame(`{"method":"GET","url":"http://x"}`, ""), sandbox.CallOptions{
		Abilities: everything,
		HTTP: doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
			inner = p.Call(ctx, "portcullis_http", nil, sandbox.CallOptions{})
			return wire.HTTPReply{Status: 204}, nil, nil
		}),
	})
	want(t, out, sandbox.OK, "")
	want(t, inner, sandbox.Refused, "reentrant")
}

func TestCallsWaitForASlotWithinTheirDeadline(t *testing.T) {
	e := open(t, sandbox.Config{MaxCalls: 1})
	p := load(t, e, "abilities", "portcullis_http", "portcullis_now")
	entered, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		out := p.Call(t.Context(), "portcullis_http", frame(`{"method":"GET","url":"http://x"}`, ""), sandbox.CallOptions{
			Abilities: everything,
			HTTP: doer(func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
				close(entered)
				<-release
				return wire.HTTPReply{Status: 204}, nil, nil
			}),
		})
		if out.Status != sandbox.OK {
			t.Errorf("first call: %+v", out)
		}
	})
	<-entered
	out := p.Call(t.Context(), "portcullis_now", nil, sandbox.CallOptions{Timeout: 20 * time.Millisecond})
	want(t, out, sandbox.TimedOut, "not_started")
	if out.Entered {
		t.Error("a call that got no slot says that it ran")
	}
	close(release)
	wg.Wait()
	want(t, p.Call(t.Context(), "portcullis_now", nil, sandbox.CallOptions{}), sandbox.OK, "")
}

func TestGuestSeesTheHostsClockAndRandomnessAndNothingElse(t *testing.T) {
	random := &lockedReader{r: bytes.NewReader(bytes.Repeat([]byte("0123456789abcdef"), 2))}
	e := open(t, sandbox.Config{Clock: func() time.Time { return frozen }, Rand: random})
	p := load(t, e, "wasi", "clock", "elapsed", "random", "surroundings")
	out := p.Call(t.Context(), "clock", nil, sandbox.CallOptions{})
	want(t, out, sandbox.OK, "")
	if got := le64(out.Output); got != uint64(frozen.UnixNano()) {
		t.Errorf("clock is %d, want %d", got, frozen.UnixNano())
	}
	// A wall clock that stands still must not stop a guest's timers.
	if out = p.Call(t.Context(), "elapsed", nil, sandbox.CallOptions{}); le64(out.Output) <= 1 {
		t.Errorf("elapsed time is %d ns", le64(out.Output))
	}
	if out = p.Call(t.Context(), "random", nil, sandbox.CallOptions{}); string(out.Output) != "0123456789abcdef" {
		t.Errorf("random is %q", out.Output)
	}
	out = p.Call(t.Context(), "surroundings", nil, sandbox.CallOptions{})
	want(t, out, sandbox.OK, "")
	for i, b := range out.Output {
		if wantByte := map[int]byte{24: 8}[i]; b != wantByte { // 8 is EBADF: nothing is mounted
			t.Errorf("byte %d is %d, want %d", i, b, wantByte)
		}
	}
}

type lockedReader struct {
	mu sync.Mutex // guards r
	r  io.Reader
}

func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}

func le64(b []byte) uint64 {
	var v uint64
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}
