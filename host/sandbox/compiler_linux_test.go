package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waiting starts a compiler that waits for its module, in a folder whose module
// is a pipe with nothing in it. It returns the child's process and how the
// compilation ends.
func waiting(t *testing.T, ctx context.Context, o order) (pid int, ended <-chan error) {
	t.Helper()
	o.Folder = t.TempDir()
	pipe := filepath.Join(o.Folder, meteredName)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	hold, err := os.OpenFile(pipe, os.O_RDWR, 0) // with both ends open nobody waits
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hold.Close() })
	leaked, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0) // as no Go program opens: it stays over the start of another
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(leaked) })
	before := children(t)
	end := make(chan error, 1)
	compiler := selfCompiler(t)
	go func() { end <- compiler.run(ctx, o) }()
	until(t, "the child has limited itself", func() bool {
		for p := range children(t) {
			if !before[p] && softLimit(p, "Max open files") == strconv.Itoa(childFiles) { // the last one
				pid = p
			}
		}
		return pid != 0
	})
	return pid, end
}

func children(t *testing.T) map[int]bool {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	pids := map[int]bool{}
	for _, f := range files {
		text, _ := os.ReadFile(f) // threads end
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids[pid] = true
		}
	}
	return pids
}

// softLimit is one line of a process's limits, empty when it has ended or when
// the limit can be raised.
func softLimit(pid int, name string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(rest); f[0] == f[1] {
				return f[0]
			}
		}
	}
	return ""
}

func ordinary() order {
	return order{MaxMemory: 1 << 20, ModuleBytes: 1 << 20, Memory: 256 << 20, CPUSeconds: 7}
}

// The child may take so much and no more, whatever becomes of this process: the
// system holds it, beside the deadline and the watch over its own memory.
func TestTheCompilerIsConfined(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	pid, ended := waiting(t, ctx, ordinary())
	for name, want := range map[string]string{
		"Max cpu time": "7", "Max core file size": "0", "Max file size": strconv.Itoa(childFileBytes), "Max open files": strconv.Itoa(childFiles),
	} {
		if got := softLimit(pid, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if n, err := strconv.ParseInt(softLimit(pid, "Max address space"), 10, 64); err != nil || n < ordinary().Memory || n > 1<<36 {
		t.Errorf("address space %d, %v", n, err)
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || string(bytes.TrimRight(env, "\x00")) != "GOMAXPROCS=2\x00"+childVariable+"=1" {
		t.Errorf("environment %q, %v", env, err)
	}
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("process group %d of process %d, %v", group, pid, err)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, f.Name()))
		if n, _ := strconv.Atoi(f.Name()); err == nil && n > 2 && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			t.Errorf("it has %s as %s", to, f.Name())
		}
	}
	gone := errors.New("gone")
	cancel(gone)
	if err := <-ended; !errors.Is(err, gone) {
		t.Errorf("ended with %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child is there: %v", err)
	}
}

// A child that does nothing at all ends at the deadline too.
func TestTheCompilerIsKilledAtItsDeadline(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	pid, ended := waiting(t, ctx, ordinary())
	cancel(errCompileTime)
	var own *compileError
	if err := <-ended; !errors.As(err, &own) || own.code != CodeCompileTimeout {
		t.Errorf("ended with %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child is there: %v", err)
	}
}

// A compiler that uses nothing up is killed when the time is over, and whatever it
// has started with it.
func TestACompilerThatSleepsIsKilled(t *testing.T) {
	started := filepath.Join(t.TempDir(), "pid")
	sleeper := Compiler{Path: "/bin/sh", Args: []string{"-c", "sleep 300 & echo $! >" + started + "; wait"}, Env: []string{"PATH=/usr/bin:/bin"}}
	e := openEngine(t, Config{CacheDir: t.TempDir(), Compiler: sleeper, CompileTimeout: time.Second})
	begun := time.Now()
	_, err := e.LoadForeign(t.Context(), Foreign{Name: "p", Wasm: answering(3), Exports: []string{"run"}})
	var le *LoadError
	if !errors.As(err, &le) || le.Code != CodeCompileTimeout {
		t.Fatalf("error %v", err)
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it took %s to be killed after one", took)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(readFile(t, started))))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the child's child is gone", func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(status), ") Z ")
	})
}

// The system's limits hold by themselves: on processor time when nobody is there
// to keep the deadline, on memory when a step is too large to be watched.
func TestTheSystemStopsTheCompiler(t *testing.T) {
	for name, c := range map[string]struct {
		module readyModule
		change func(*order)
		code   LoadCode
	}{
		"time":   {slowModule(), func(o *order) { o.CPUSeconds = 1 }, CodeCompileTimeout},
		"memory": {wideModule(), func(o *order) { o.Memory = 64 << 20 }, CodeCompileMemory},
	} {
		t.Run(name, func(t *testing.T) {
			o := ordinary()
			o.Folder, o.ModuleBytes, o.Memory, o.CPUSeconds = t.TempDir(), int64(len(c.module.code)), 2<<30, 300
			c.change(&o)
			writeFile(t, filepath.Join(o.Folder, meteredName), c.module.code)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var own *compileError
			if err := selfCompiler(t).run(ctx, o); !errors.As(err, &own) || own.code != c.code {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// When everybody who waited for a compilation has left, so does the compiler;
// while one waits, it stays.
func TestTheCompilerLeavesWithItsLastCaller(t *testing.T) {
	e := openEngine(t, Config{CacheDir: t.TempDir(), Compiler: selfCompiler(t), CompileTimeout: 10 * time.Minute})
	m := slowModule()
	digest := digestOf(m.code)
	first, leave := context.WithCancel(t.Context())
	second, leaveToo := context.WithCancel(t.Context())
	ends := make(chan error, 2)
	before := len(children(t))
	go func() { ends <- e.compile(first, digest, m) }()
	go func() { ends <- e.compile(second, digest, m) }()
	waiters := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		if f := e.flights["compile "+digest]; f != nil {
			return f.waiting
		}
		return 0
	}
	until(t, "both wait for one child", func() bool { return waiters() == 2 && len(children(t)) == before+1 })
	leave()
	if err := <-ends; !errors.Is(err, context.Canceled) {
		t.Errorf("the first ended with %v", err)
	}
	if waiters() != 1 || len(children(t)) != before+1 {
		t.Errorf("%d wait for %d children", waiters(), len(children(t))-before)
	}
	leaveToo()
	if err := <-ends; !errors.Is(err, context.Canceled) {
		t.Errorf("the second ended with %v", err)
	}
	until(t, "the child is gone", func() bool { return len(children(t)) == before })
}

// Closing the engine ends a compilation that goes on, and waits for its child.
func TestCloseEndsTheCompiler(t *testing.T) {
	e, err := Open(t.Context(), Config{CacheDir: t.TempDir(), Compiler: selfCompiler(t), CompileTimeout: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	before := len(children(t))
	m := slowModule()
	end := make(chan error, 1)
	go func() { end <- e.compile(t.Context(), digestOf(m.code), m) }()
	until(t, "there is a child", func() bool { return len(children(t)) == before+1 })
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-end; !errors.Is(err, ErrClosed) {
		t.Errorf("ended with %v", err)
	}
	if n := len(children(t)); n != before {
		t.Errorf("%d children are left", n-before)
	}
}
