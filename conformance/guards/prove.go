package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// guard is one line of defence: the text of it, what stands there when it is broken, and the test that must notice.
type guard struct {
	name string
	file string // from the root of the checkout
	old  string // once in the file
	new  string
	pkg  string // of the test
	test string // as for -run, each part matched whole
}

// Bounds of one test without its guard. A test that hangs has noticed too. With its guard it has as long as the slowest machine
// may take.
const (
	testTime   = 40 * time.Second
	wholeTime  = 4 * time.Minute
	testMemory = 16 << 20 // KiB of address space: memories of guests are reserved whole
	workers    = 2
)

// proof is one run over the table.
type proof struct {
	root, dir string
	out       io.Writer
	verbose   bool
	mu        sync.Mutex // guards out
}

func newProof(out io.Writer, verbose bool) (*proof, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("guards: find the checkout: %w", err)
	}
	dir, err := os.MkdirTemp("", "guards-*")
	if err != nil {
		return nil, fmt.Errorf("guards: %w", err)
	}
	return &proof{root: filepath.Dir(strings.TrimSpace(string(mod))), dir: dir, out: out, verbose: verbose}, nil
}

func (p *proof) close() { _ = os.RemoveAll(p.dir) } // a folder of the system's for such things

// all proves every guard and returns how many were missed, as they should be.
func (p *proof) all(ctx context.Context, guards []guard) (missed int) {
	if !p.whole(ctx, guards) {
		return 0
	}
	work := make(chan guard)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for g := range work {
				err := p.one(ctx, g)
				p.mu.Lock()
				if err == nil {
					missed++
					fmt.Fprintf(p.out, "missed   %-28s %s %s\n", g.name, g.pkg, g.test)
				} else {
					fmt.Fprintf(p.out, "UNSEEN   %-28s %s %s: %v\n", g.name, g.pkg, g.test, err)
				}
				p.mu.Unlock()
			}
		})
	}
	for _, g := range guards {
		work <- g
	}
	close(work)
	wg.Wait()
	return missed
}

// whole runs the tests of all guards with nothing taken out: each must be there and pass.
func (p *proof) whole(ctx context.Context, guards []guard) bool {
	tests := map[string][]string{}
	for _, g := range guards {
		if !slices.Contains(tests[g.pkg], g.test) {
			tests[g.pkg] = append(tests[g.pkg], g.test)
		}
	}
	ok := true
	for pkg, names := range tests {
		bin, err := p.build(ctx, pkg, "")
		if err != nil {
			fmt.Fprintf(p.out, "%s does not build: %v\n", pkg, err)
			return false
		}
		for _, name := range names {
			if out, _, err := p.test(ctx, bin, pkg, name, wholeTime); err != nil || !bytes.Contains(out, []byte("--- PASS: "+name+" ")) {
				fmt.Fprintf(p.out, "%s %s does not pass as it stands: %v\n%s", pkg, name, err, tail(out))
				ok = false
			}
		}
	}
	return ok
}

// one takes one guard out.
func (p *proof) one(ctx context.Context, g guard) error {
	path := filepath.Join(p.root, filepath.FromSlash(g.file))
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	broken, err := g.broken(string(text))
	if err != nil {
		return err
	}
	replaced := filepath.Join(p.dir, g.name+".go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: replaced}})
	if err != nil {
		return err
	}
	list := filepath.Join(p.dir, g.name+".json")
	if err := errors.Join(os.WriteFile(replaced, []byte(broken), 0o600), os.WriteFile(list, overlay, 0o600)); err != nil {
		return err
	}
	bin, err := p.build(ctx, g.pkg, list)
	if err != nil {
		return fmt.Errorf("without it nothing builds: %w", err)
	}
	defer os.Remove(bin)
	out, hung, err := p.test(ctx, bin, g.pkg, g.test, testTime)
	if p.verbose {
		fmt.Fprintf(p.out, "%s\n%s", g.name, tail(out))
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return errors.New("the test passes without it")
	case !noticed(out, g.test, hung):
		return fmt.Errorf("the test did not fail by itself: %w\n%s", err, tail(out))
	}
	return nil
}

// broken is the file without the guard.
func (g guard) broken(text string) (string, error) {
	if n := strings.Count(text, g.old); n != 1 {
		return "", fmt.Errorf("%s has its text %d times", g.file, n)
	}
	return strings.Replace(text, g.old, g.new, 1), nil
}

// build makes the test binary of a package.
func (p *proof) build(ctx context.Context, pkg, overlay string) (string, error) {
	f, err := os.CreateTemp(p.dir, "*.test")
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	args := []string{"test", "-tags", "strace", "-c", "-o", f.Name()} // with the tests that need strace
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = p.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return f.Name(), nil
}

// test runs one test of a binary in the folder of its package, within bounds. hung says that it had to be killed: a
// guest that cannot be stopped does not let the process print its own end.
func (p *proof) test(ctx context.Context, bin, pkg, name string, within time.Duration) (out []byte, hung bool, err error) {
	pattern := "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	inner, stop := context.WithTimeout(ctx, within+5*time.Second)
	defer stop()
	cmd := exec.CommandContext(inner, "sh", "-c", `ulimit -v "$0" && exec "$@"`, fmt.Sprint(testMemory),
		bin, "-test.run", pattern, "-test.v", "-test.timeout", within.String())
	cmd.Dir = filepath.Join(p.root, filepath.FromSlash(pkg))
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1") // what rapid writes down of a test that fails would stay in testdata: here it is meant to
	out, err = cmd.CombinedOutput()
	return out, inner.Err() != nil && ctx.Err() == nil, err
}

// noticed reports that the test failed, or hung, or its process died of what it ran.
func noticed(out []byte, name string, hung bool) bool {
	if bytes.Contains(out, []byte("--- FAIL: "+name+" ")) {
		return true
	}
	began := bytes.Contains(out, []byte("=== RUN   "+name+"\n"))
	died := bytes.Contains(out, []byte("panic: ")) || bytes.Contains(out, []byte("fatal error: ")) || bytes.Contains(out, []byte("unexpected fault"))
	return began && (died || hung)
}

// tail is the end of what a test printed.
func tail(out []byte) []byte {
	const most = 2 << 10
	return out[max(0, len(out)-most):]
}
