package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// dirEnv is where the databases of a sweep are, if not in the temporary folder. What is killed is a process, so that memory does
// as well as a disk, and none of the thousands of writes waits.
const dirEnv = "CRASH_DIR"

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

// allCopied is a copy of a database and of every file beside it, in a folder of its own.
func allCopied(t *testing.T, path, dir string) string {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(path), f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name()), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, filepath.Base(path))
}

// newDir is a folder for the database of one child, which is there until the test has ended.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(dirEnv), "portcullis-crash-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
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
	stood  bool // it was not ended, and this is what its end would have left
	failed bool // it said that it could not do its job
	stderr string
}

// run runs the child over path, under the given command if there is one.
func run(t *testing.T, path, exe string, env []string, under ...string) ending {
	t.Helper()
	nothing := func(*exec.Cmd) {}
	if len(under) > 0 {
		exe, under = under[0], append(under[1:], exe)
	}
	return runBeside(t, path, exe, env, func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, under...) }, nothing)
}

// runBeside runs the child over path. before is called with it before it starts, and beside once it has.
func runBeside(t *testing.T, path, exe string, env []string, before, beside func(*exec.Cmd)) ending {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), childEnv+"="+path), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	before(cmd)
	err := cmd.Start()
	if err == nil {
		beside(cmd)
		err = cmd.Wait()
	}
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
	mu                                sync.Mutex // guards the rest
	points, killed, stood, failed, ok int
	faults                            []string
}

func (y *tally) add(name string, e ending, faults []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.points++
	switch {
	case e.killed:
		y.killed++
	case e.stood:
		y.stood++
	case e.failed:
		y.failed++
	default:
		y.ok++
	}
	for _, f := range faults {
		y.faults = append(y.faults, name+": "+f)
	}
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
	stood := ""
	if y.stood > 0 {
		stood = fmt.Sprintf(", %d as a kill leaves them", y.stood)
	}
	t.Logf("crash: %s: %d points (%d killed%s, %d failed, %d went on), %d lost, %d twice, %d other faults",
		what, y.points, y.killed, stood, y.failed, y.ok, lost, twice, len(y.faults)-lost-twice)
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

// each runs job for 1, 1+step, ... on all processors until one says that there are no more. One more than there are processors
// run at once, as each waits for its child now and then.
func each(step int, job func(n int) (more bool)) {
	var (
		mu   sync.Mutex
		next = 1
		done bool
		all  sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) + 1 {
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
