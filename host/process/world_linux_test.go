package process_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/process"
)

// world is an engine, a folder to work in, and a mark in the environment of everything that runs there.
type world struct {
	t      testing.TB
	engine *process.Engine
	finder process.Finder
	dir    string
	mark   string
	limits process.Limits
	broken chan struct{}
	stdin  []byte
	env    []string
	out    *process.Output
	errs   *process.Output
}

func newWorld(t testing.TB) *world {
	t.Helper()
	keeper, err := process.SelfKeeper()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, engine: process.Open(process.Config{Keeper: keeper}), dir: t.TempDir(),
		mark:   fmt.Sprintf("MARK=%s-%d", strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()), time.Now().UnixNano()),
		finder: process.Finder{Path: process.Folders("/usr/local/bin:/usr/bin:/bin"), Digests: &process.Digests{}, UID: os.Getuid()},
	}
	t.Cleanup(func() {
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
		if left := w.living(); len(left) > 0 {
			t.Errorf("%d processes live on: %v", len(left), left)
			w.killAll()
		}
	})
	return w
}

// living are the processes that have the mark in their environment, as they were started.
func (w *world) living() (out []string) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range environs {
		if text, err := os.ReadFile(e); err == nil && bytes.Contains(text, []byte(w.mark)) {
			out = append(out, filepath.Base(filepath.Dir(e)))
		}
	}
	return out
}

// killAll ends what a failed test left.
func (w *world) killAll() {
	for _, pid := range w.living() {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

func (w *world) command(argv ...string) process.Command {
	w.t.Helper()
	p, err := w.finder.Pin(context.Background(), argv[0], w.dir, "")
	if err != nil {
		w.t.Fatal(err)
	}
	d, err := os.Open(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _, _ = p.Close(), d.Close() })
	return process.Command{Program: p, Argv: argv, Env: append([]string{w.mark, "PATH=/usr/bin:/bin"}, w.env...), Dir: d, Limits: w.limits}
}

// run runs argv to its end, or until ctx ends.
func (w *world) run(ctx context.Context, argv ...string) (process.Ended, error) {
	w.t.Helper()
	w.out, w.errs = process.NewOutput(4096, 4096, nil), process.NewOutput(4096, 4096, nil)
	return w.engine.Run(ctx, w.command(argv...), process.Streams{Stdin: w.stdin, Stdout: w.out, Stderr: w.errs, Broken: w.broken})
}

func (w *world) sh(ctx context.Context, script string) process.Ended {
	w.t.Helper()
	end, err := w.run(ctx, "sh", "-c", script)
	if err != nil {
		w.t.Fatal(err)
	}
	return end
}

func (w *world) write(name, text string, mode os.FileMode) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
	return path
}
