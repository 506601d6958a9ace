//go:build strace

package crash

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// needStrace is the path of strace, without which these tests fail: they are in the package when they are asked for.
func needStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is not installed, so that no system call can be made to fail: apt-get install strace")
	}
	return path
}

// sweep lets inject do its work at the first, second, ... call of a system call until a child never gets that far: in the turn
// at every step-th, and in a child that uses the store's other writes too, which are made in the same way, at each eighth of
// those or at every most-th.
func sweep(t *testing.T, call, inject, what string, step, most int) *tally {
	sum := sweepOver(t, call, inject, step, before{start: fresh, env: doesEnv + "=turn"})
	sum.report(t, what+" of the turn")
	sweepOver(t, call, inject, min(step*8, most), before{start: fresh}).report(t, what+" of all writes, some of them")
	return sum
}

// before is what a swept child finds, and what is held afterwards.
type before struct {
	start func(t *testing.T, dir string) string             // makes the database
	told  string                                            // what earlier children wrote into the book
	env   string                                            // of the child
	hold  func(t *testing.T, path string, b *book) []string // nil: [hold]
}

// sweepOver is sweep over databases that are there already.
func sweepOver(t *testing.T, call, inject string, step int, from before) *tally {
	t.Helper()
	strace := needStrace(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if from.hold == nil {
		from.hold = hold
	}
	sum := &tally{}
	each(step, func(n int) bool {
		dir, err := os.MkdirTemp(os.Getenv(dirEnv), "portcullis-crash-")
		if err != nil {
			t.Error(err)
			return false
		}
		defer os.RemoveAll(dir)
		path, log := from.start(t, dir), filepath.Join(dir, "strace")
		under := []string{strace, "-f", "-q", "-o", log, "-e", "trace=" + call, "-e", "signal=none", "-e", fmt.Sprintf("inject=%s:%s:when=%d", call, inject, n)}
		if strings.HasPrefix(inject, "error=") {
			under = slices.Insert(under, 2, "--seccomp-bpf") // stops at no other call, but delivers no signals
		}
		// Each call that is stopped at costs: one processor and no collector make the fewest.
		e := run(t, path, self, []string{from.env, "GOMAXPROCS=1", "GOGC=off"}, under...)
		hit, err := injected(log)
		if err != nil {
			t.Error(err)
			return false
		}
		if !hit && !e.killed {
			if e.failed {
				t.Errorf("%s %d: the child failed by itself: %s", call, n, e.stderr)
			}
			return false
		}
		sum.add(fmt.Sprintf("%s %s %d", call, inject, n), e, from.hold(t, path, read(from.told+e.out)))
		return true
	})
	return sum
}

// take adds what another sweep saw.
func (y *tally) take(more *tally) {
	y.points, y.killed, y.failed, y.ok = y.points+more.points, y.killed+more.killed, y.failed+more.failed, y.ok+more.ok
	y.faults = append(y.faults, more.faults...)
}

// injected reports whether strace's log shows that it interfered.
func injected(log string) (bool, error) {
	f, err := os.Open(log)
	if err != nil {
		return false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<20))
	return bytes.Contains(text, []byte("(INJECTED)")) || bytes.Contains(text, []byte("killed by SIGKILL")), err
}

func TestKilledAtEverySystemCall(t *testing.T) {
	step := stride(t, 9)
	for _, call := range []string{"pwrite64", "fdatasync", "fsync", "ftruncate"} {
		sum := sweep(t, call, "signal=SIGKILL", "kill at "+call, step, 18)
		if call == "pwrite64" && sum.killed < 100/step {
			t.Errorf("only %d kills", sum.killed)
		}
	}
}

func TestTheDiskFailsAtEverySystemCall(t *testing.T) {
	step := stride(t, 15)
	for _, one := range []struct{ call, inject string }{
		{"pwrite64", "error=EIO"}, {"pwrite64", "error=ENOSPC"}, {"fdatasync", "error=EIO"}, {"fsync", "error=EIO"}, {"ftruncate", "error=EIO"},
	} {
		sweep(t, one.call, one.inject, one.inject[len("error="):]+" at "+one.call, step, 30)
	}
}
