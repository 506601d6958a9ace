package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// stride is how many points of a sweep are passed over for each that is visited: 1 visits all.
func stride(t *testing.T, standard int) int {
	t.Helper()
	text := os.Getenv("CRASH_STRIDE")
	if text == "" {
		return standard
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("CRASH_STRIDE=%s is no number of points", text)
	}
	return n
}

// needStrace skips where there is no strace; where the checks run, its absence fails.
func needStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("strace is not installed: apt-get install strace")
	}
	t.Skip("strace is not installed, so that no system call can be made to fail: apt-get install strace")
	return ""
}

// fresh is a database with its schema and nothing in it, for one child.
func fresh(t *testing.T, dir string) string {
	t.Helper()
	path, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return copied(t, path, dir)
}

// copied is a copy of a database that nobody uses, its log included.
func copied(t *testing.T, from, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "portcullis.db")
	for _, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(from + end)
		if err == nil {
			err = os.WriteFile(path+end, text, 0o600)
		}
		if err != nil && (end == "" || !errors.Is(err, fs.ErrNotExist)) {
			t.Fatal(err)
		}
	}
	return path
}

var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "portcullis-crash-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "portcullis.db")
	w, err := openWorld(context.Background(), path)
	if err != nil {
		return "", err
	}
	return path, w.close()
})

// ending is how a child came to its end.
type ending struct {
	out    string
	killed bool
	failed bool // it said that it could not do its job
	stderr string
}

// run runs the child over path, under the given command if there is one.
func run(t *testing.T, path, exe string, env []string, under ...string) ending {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exe)
	if len(under) > 0 {
		cmd = exec.CommandContext(t.Context(), under[0], append(under[1:], exe)...)
	}
	cmd.Env = append(append(os.Environ(), childEnv+"="+path), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	e := ending{out: out.String(), stderr: said.String()}
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		status, _ := exit.Sys().(syscall.WaitStatus)
		// strace ends itself by the signal that ended what it traced.
		e.killed = status.Signaled() && status.Signal() == syscall.SIGKILL || exit.ExitCode() == 128+int(syscall.SIGKILL)
		e.failed = !e.killed
	default:
		t.Fatal(err)
	}
	return e
}

// tally counts what a sweep saw.
type tally struct {
	mu                         sync.Mutex // guards the rest
	points, killed, failed, ok int
	faults                     []string
}

func (y *tally) add(name string, e ending, faults []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.points++
	switch {
	case e.killed:
		y.killed++
	case e.failed:
		y.failed++
	default:
		y.ok++
	}
	for _, f := range faults {
		y.faults = append(y.faults, name+": "+f)
	}
}

// take adds what another sweep saw.
func (y *tally) take(more *tally) {
	y.points, y.killed, y.failed, y.ok = y.points+more.points, y.killed+more.killed, y.failed+more.failed, y.ok+more.ok
	y.faults = append(y.faults, more.faults...)
}

func (y *tally) report(t *testing.T, what string) {
	t.Helper()
	for _, f := range y.faults {
		t.Error(f)
	}
	lost, twice := 0, 0
	for _, f := range y.faults {
		if bytes.Contains([]byte(f), []byte(": lost: ")) {
			lost++
		}
		if bytes.Contains([]byte(f), []byte(": twice: ")) {
			twice++
		}
	}
	visited.add(y.points, lost, twice)
	t.Logf("crash: %s: %d points (%d killed, %d failed, %d went on), %d lost, %d twice, %d other faults",
		what, y.points, y.killed, y.failed, y.ok, lost, twice, len(y.faults)-lost-twice)
}

// visited is what all sweeps of this run saw.
var visited total

type total struct {
	mu                  sync.Mutex // guards the rest
	points, lost, twice int
}

func (s *total) add(points, lost, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points, s.lost, s.twice = s.points+points, s.lost+lost, s.twice+twice
}

// print is the last word of a run that visited anything.
func (s *total) print() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.points > 0 {
		fmt.Printf("crash: %d points, %d lost, %d twice\n", s.points, s.lost, s.twice)
	}
}

// each runs job for 1, 1+step, ... on all processors until one says that there are no more.
func each(step int, job func(n int) (more bool)) {
	var (
		mu   sync.Mutex
		next = 1
		done bool
		all  sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				mu.Lock()
				n := next
				next += step
				stop := done
				mu.Unlock()
				if stop {
					return
				}
				if !job(n) {
					mu.Lock()
					done = true
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
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
		dir, err := os.MkdirTemp("", "portcullis-crash-")
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
