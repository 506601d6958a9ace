//go:build strace

package crash

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// runStraced is [runStopped] where the kernel does not lend itself to that: strace stops the child.
func runStraced(t *testing.T, path, exe string, env []string, at stop) (e ending, hit bool, err error) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is not installed, so that no system call can be made to fail: apt-get install strace")
	}
	inject, log := "signal=SIGKILL", filepath.Join(t.TempDir(), "strace")
	if at.err != 0 {
		inject = "error=" + unix.ErrnoName(at.err)
	}
	under := []string{
		strace, "-f", "-q", "-o", log, "-e", "trace=" + at.call, "-e", "signal=none",
		"-e", fmt.Sprintf("inject=%s:%s:when=%d", at.call, inject, at.n),
	}
	if at.err != 0 {
		under = slices.Insert(under, 2, "--seccomp-bpf") // stops at no other call, but delivers no signals
	}
	e = run(t, path, exe, env, under...)
	f, err := os.Open(log)
	if err != nil {
		return e, false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<20))
	return e, e.killed || bytes.Contains(text, []byte("(INJECTED)")) || bytes.Contains(text, []byte("killed by SIGKILL")), err
}

// sweep lets err do its work at the first, second, ... call of a system call until a child never gets that far: in the turn
// at every step-th, and in a child that uses the store's other writes too, which are made in the same way, at each eighth of
// those or at every most-th.
func sweep(t *testing.T, call string, err syscall.Errno, what string, step, most int) *tally {
	sum := sweepOver(t, call, err, step, before{start: fresh, env: doesEnv + "=turn"})
	sum.report(t, what+" of the turn")
	sweepOver(t, call, err, min(step*8, most), before{start: fresh}).report(t, what+" of all writes, some of them")
	return sum
}

// before is what a swept child finds, and what is held afterwards.
type before struct {
	start func(t *testing.T, dir string) string             // makes the database
	told  string                                            // what earlier children wrote into the book
	env   string                                            // of the child
	hold  func(t *testing.T, path string, b *book) []string // nil: [hold]
}

// environ is what a child that is stopped has in its environment. Each stop costs: one processor and no collector make the
// fewest.
func (b before) environ() []string { return []string{b.env, "GOMAXPROCS=1", "GOGC=off"} }

// sweepOver is sweep over databases that are there already. A call that no child makes is a fault of the test: it would go on
// to say that all went well when SQLite or Go has come to write by another call.
func sweepOver(t *testing.T, call string, with syscall.Errno, step int, from before) *tally {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if from.hold == nil {
		from.hold = hold
	}
	sum := &tally{}
	var straced sync.Once
	each(step, func(n int) bool {
		dir, err := os.MkdirTemp(os.Getenv(dirEnv), "portcullis-crash-")
		if err != nil {
			t.Error(err)
			return false
		}
		defer os.RemoveAll(dir)
		path, at := from.start(t, dir), stop{call: call, n: n, err: with}
		e, hit, err := runStopped(t, path, self, from.environ(), at)
		if errors.Is(err, errNotStopped) {
			straced.Do(func() { t.Logf("strace takes over: %v", err) })
			e, hit, err = runStraced(t, path, self, from.environ(), at)
		}
		switch {
		case err != nil:
			t.Errorf("%s: %v", at, err)
			return false
		case !hit && (e.failed || e.killed):
			t.Errorf("%s: the child ended by itself: %s", at, e.stderr)
			return false
		case !hit:
			return false
		case with == 0 && !e.killed:
			t.Errorf("%s: the child came to the call and was not killed: %+v", at, e)
			return false
		}
		sum.add(at.String(), e, from.hold(t, path, read(from.told+e.out)))
		return true
	})
	sum.some(t, call)
	return sum
}

// some fails a test that visited no point of a call.
func (y *tally) some(t *testing.T, call string) {
	t.Helper()
	if y.points == 0 {
		t.Errorf("no child makes the call %s, so nothing was tried at it", call)
	}
}

// take adds what another sweep saw.
func (y *tally) take(more *tally) {
	y.points, y.killed, y.stood = y.points+more.points, y.killed+more.killed, y.stood+more.stood
	y.failed, y.ok = y.failed+more.failed, y.ok+more.ok
	y.faults = append(y.faults, more.faults...)
}

func TestKilledAtEverySystemCall(t *testing.T) {
	step := stride(t, 9)
	for _, call := range []string{"pwrite64", "fdatasync", "ftruncate", "unlink"} {
		sum := sweep(t, call, 0, "kill at "+call, step, 18)
		if call == "pwrite64" && sum.killed < 150/step {
			t.Errorf("only %d kills", sum.killed)
		}
	}
}

func TestTheDiskFailsAtEverySystemCall(t *testing.T) {
	step := stride(t, 15)
	for _, one := range []struct {
		call string
		err  syscall.Errno
	}{
		{"pwrite64", unix.EIO}, {"pwrite64", unix.ENOSPC}, {"fdatasync", unix.EIO}, {"ftruncate", unix.EIO}, {"unlink", unix.EIO},
	} {
		sweep(t, one.call, one.err, unix.ErrnoName(one.err)+" at "+one.call, step, 30)
	}
}

// sizes are the files beside a database, itself included, and how large they are.
func sizes(t *testing.T, path string) string {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		about, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(f.Name(), " ", about.Size()))
	}
	return strings.Join(all, ", ")
}

// TestStraceStopsAtTheSameCalls ends the upgrade of the oldest database at the same calls by the kernel's own stops and by
// strace, and finds the same files, of the same sizes. Where the kernel stops no child, strace does it in all sweeps, and must
// leave the same twice.
func TestStraceStopsAtTheSameCalls(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, 1)
	ways := []func(*testing.T, string, string, []string, stop) (ending, bool, error){runStopped, runStraced}
	for _, want := range []struct {
		stop
		hit bool
	}{
		{stop{call: "pwrite64", n: 1}, true},
		{stop{call: "pwrite64", n: 40}, true},
		{stop{call: "pwrite64", n: 300}, true},
		{stop{call: "pwrite64", n: 9000}, false},
		{stop{call: "fsync", n: 5}, true},
		{stop{call: "linkat", n: 1}, true},
		{stop{call: "pwrite64", n: 40, err: unix.EIO}, true},
		{stop{call: "pwrite64", n: 300, err: unix.ENOSPC}, true},
		{stop{call: "fsync", n: 1, err: unix.EIO}, true},
	} {
		var left [2]string
		for i := range ways {
			path := s.copyTo(t, t.TempDir())
			e, hit, err := ways[i](t, path, self, s.upgraded().environ(), want.stop)
			if errors.Is(err, errNotStopped) {
				t.Logf("strace beside strace: %v", err)
				ways[i] = runStraced
				e, hit, err = runStraced(t, path, self, s.upgraded().environ(), want.stop)
			}
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if hit != want.hit || e.killed != (hit && want.err == 0) {
				t.Errorf("%s: way %d: hit %v, killed %v", want, i, hit, e.killed)
			}
			left[i] = fmt.Sprintf("hit %v, killed %v, failed %v: %s", hit, e.killed, e.failed, sizes(t, path))
		}
		if left[0] != left[1] {
			t.Errorf("%s: %s; strace's: %s", want, left[0], left[1])
		}
		t.Logf("%s: %s", want, left[0])
	}
}
