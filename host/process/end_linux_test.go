package process_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/process"
)

func TestHowProgramsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		code   int
		signal string
		out    string
	}{
		"exit code 0":              {"exit 0", 0, "", ""},
		"exit code 7":              {"exit 7", 7, "", ""},
		"exit code 255":            {"exit 255", 255, "", ""},
		"a signal of its own":      {"kill -TERM $$", 0, "SIGTERM", ""},
		"KILL of its own":          {"kill -KILL $$", 0, "SIGKILL", ""},
		"SEGV of its own":          {"kill -SEGV $$", 0, "SIGSEGV", ""},
		"output":                   {"echo a; echo b >&2", 0, "", "a\n"},
		"no input unless given":    {"cat", 0, "", ""},
		"no terminal":              {"if (: < /dev/tty) 2>/dev/null; then echo tty; else echo none; fi", 0, "", "none\n"},
		"a session of its own":     {"[ $(ps -o sid= -p $$) = $$ ] && echo own", 0, "", "own\n"},
		"three streams, no more":   {"ls /proc/self/fd | sort -n | tr '\\n' ' '", 0, "", "0 1 2 3 "},
		"no core dump":             {"ulimit -c", 0, "", "0\n"},
		"default signals":          {"trap", 0, "", ""},
		"a zombie left":            {"(exit 3) & sleep 0.1; exit 0", 0, "", ""},
		"a background child":       {"sleep 60 & exit 0", 0, "", ""},
		"a group of its own":       {"setsid sleep 60 & exit 4", 4, "", ""},
		"a double fork":            {"(setsid sh -c 'sleep 60 & exit 0' &) ; exit 5", 5, "", ""},
		"a daemon with no streams": {"setsid sh -c 'exec </dev/null >/dev/null 2>&1; setsid sleep 60 & sleep 60' & exit 0", 0, "", ""},
		"TERM ignored":             {"trap '' TERM; (trap '' TERM; sleep 60) & (setsid sh -c 'trap \"\" TERM HUP; sleep 60') & exit 6", 6, "", ""},
		"stopped children":         {"sleep 60 & kill -STOP $!; exit 0", 0, "", ""},
		"many children":            {"i=0; while [ $i -lt 40 ]; do setsid sleep 60 & i=$((i+1)); done; exit 0", 0, "", ""},
		"a tree ten deep":          {"f() { if [ $1 -gt 0 ]; then setsid sh -c \"$2\" x $(($1-1)) \"$2\" & fi; }; s='sleep 60 & [ $1 -gt 0 ] && setsid sh -c \"$2\" x $(($1-1)) \"$2\" & sleep 60'; f 10 \"$s\"; sleep 0.3; exit 0", 0, "", ""},
		"pipes that stay open":     {"(sleep 60 >&2) & echo done", 0, "", "done\n"},
		"what ends soon may end":   {"(sleep 0.05; echo late) & exit 0", 0, "", "late\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.limits = process.Limits{Grace: 200 * time.Millisecond, Linger: 300 * time.Millisecond}
			if c.out == "late\n" {
				w.limits.Linger = time.Minute // it ends when it has said so, and on a busy machine that is later
			}
			end := w.sh(t.Context(), c.script)
			if !end.Clean || end.Left != 0 || !end.Exited || end.Code != c.code || end.Signal != c.signal || w.out.Text() != c.out {
				t.Errorf("%+v, output %q %q", end, w.out.Text(), w.errs.Text())
			}
			if left := w.living(); len(left) > 0 {
				t.Errorf("%v live on", left)
			}
		})
	}
}

func TestWhatIsStoppedIsGone(t *testing.T) {
	for name, script := range map[string]string{
		"a sleeper":            "echo ready; sleep 60",
		"TERM ignored":         "trap '' TERM; echo ready; while :; do sleep 60; done",
		"TERM and children":    "trap '' TERM; sleep 60 & setsid sleep 60 & echo ready; wait; while :; do sleep 60; done",
		"setsid and orphans":   "(setsid sh -c 'trap \"\" TERM; sleep 60 & sleep 60' &); echo ready; sleep 60",
		"a stopped program":    "echo ready; kill -STOP $$",
		"a busy loop":          "echo ready; while :; do :; done",
		"forking all the time": "echo ready; while :; do setsid sleep 0.01 & setsid sh -c 'sleep 5 & sleep 5' & wait %1; done",
		"a reader of nothing":  "echo ready; read x < /dev/zero; sleep 60",
	} {
		for _, how := range []string{"stop", "kill", "close"} {
			t.Run(name+", "+how, func(t *testing.T) {
				w := newWorld(t)
				w.limits = process.Limits{Grace: 100 * time.Millisecond}
				c, err := w.engine.Start(t.Context(), w.command("sh", "-c", script))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Release()
				if line, err := bufio.NewReader(c.Stdout()).ReadString('\n'); line != "ready\n" {
					t.Fatal(line, err)
				}
				switch how {
				case "stop":
					c.Stop()
				case "kill":
					c.Kill()
				case "close":
					if err := w.engine.Close(); err != nil {
						t.Error(err)
					}
				}
				<-c.Done()
				if end := c.Ended(); !end.Clean || end.Left != 0 || end.Signal == "" {
					t.Errorf("%+v", end)
				}
				if left := w.living(); len(left) > 0 {
					t.Errorf("%v live on", left)
				}
			})
		}
	}
}

func TestAContextThatEndsStopsAProgram(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	end, err := w.engine.Run(ctx, w.command("sh", "-c", "echo ready; setsid sleep 60 & sleep 60"), process.Streams{Stdout: writerFunc(func([]byte) { cancel() })})
	if err != nil || !end.Clean || end.Signal != "SIGTERM" {
		t.Fatal(end, err)
	}
}

func TestOutputThatCannotBeKeptStopsAProgram(t *testing.T) {
	w := newWorld(t)
	broken := make(chan struct{})
	end, err := w.engine.Run(t.Context(), w.command("sh", "-c", "echo x; sleep 60"), process.Streams{Stdout: writerFunc(func([]byte) { close(broken) }), Broken: broken})
	if err != nil || !end.Clean || end.Signal != "SIGTERM" {
		t.Fatal(end, err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	if len(p) > 0 {
		f(p)
	}
	return len(p), nil
}

// A program that ends its keeper takes away what would have made its end certain.
func TestAProgramThatKillsItsKeeperIsNotSaidToBeGone(t *testing.T) {
	w := newWorld(t)
	end := w.sh(t.Context(), "sleep 0.3; kill -KILL $PPID; sleep 60")
	if end.Clean || end.Left == 0 {
		t.Fatalf("%+v", end)
	}
}

// A program cannot write its keeper's report, unless it runs as root, before whom nothing is closed.
func TestAKeeperCannotBeLookedInto(t *testing.T) {
	if os.Getuid() == 0 { // who may look into every process: the test is for somebody else
		asNobody(t)
		return
	}
	w := newWorld(t)
	w.sh(t.Context(), "stat -c %u:%a /proc/$PPID/fd; stat -c %u /proc/$$/fd")
	if lines := strings.Fields(w.out.Text()); len(lines) != 2 || lines[0] != "0:500" {
		t.Fatal(lines)
	}
}

// asNobody runs the calling test again in a process that is not root.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "portcullis-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "process.test")
	if err := errors.Join(os.WriteFile(exe, text, 0o755), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A host that is killed takes its programs along.
func TestAHostThatDiesTakesItsProgramsAlong(t *testing.T) {
	w := newWorld(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self, "be-a-host", w.mark)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	if n := len(w.living()); n < 2 {
		t.Fatalf("%d processes", n)
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	for began := time.Now(); len(w.living()) > 0; {
		if time.Since(began) > time.Minute {
			t.Error(w.living())
			w.killAll()
			return
		}
	}
}

// beAHost runs a program with an escaped child until it is killed.
func beAHost(mark string) int {
	keeper, _ := process.SelfKeeper()
	e := process.Open(process.Config{Keeper: keeper})
	f := process.Finder{Path: []string{"/usr/bin", "/bin"}, Digests: &process.Digests{}, UID: -1}
	p, err := f.Pin(context.Background(), "sh", "/", "")
	if err != nil {
		return 1
	}
	dir, _ := os.Open("/")
	_, _ = e.Run(context.Background(), process.Command{
		Program: p, Argv: []string{"sh", "-c", "setsid sleep 600 & echo ready; sleep 600"}, Env: []string{mark, "PATH=/usr/bin:/bin"}, Dir: dir,
	}, process.Streams{Stdout: os.Stdout})
	return 0
}

func TestAnEngineThatIsClosedStartsNothing(t *testing.T) {
	w := newWorld(t)
	cmd := w.command("true")
	for range 2 {
		if err := w.engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.engine.Start(t.Context(), cmd); !errors.Is(err, process.ErrClosed) {
		t.Fatal(err)
	}
	none := process.Open(process.Config{})
	if _, err := none.Start(t.Context(), cmd); !errors.Is(err, process.ErrNoKeeper) {
		t.Fatal(err)
	}
}

func TestProgramsWaitForAPlace(t *testing.T) {
	w := newWorld(t)
	keeper, _ := process.SelfKeeper()
	w.engine = process.Open(process.Config{Keeper: keeper, Most: 1})
	first, err := w.engine.Start(t.Context(), w.command("cat"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.engine.Start(ctx, w.command("true")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_ = first.Stdin().Close()
	if end, err := w.run(t.Context(), "true"); err != nil || !end.Clean {
		t.Fatal(end, err)
	}
}

// A handle is for a program that answers for a long time, as a server on standard input and output does.
func TestAProgramThatStays(t *testing.T) {
	w := newWorld(t)
	c, err := w.engine.Start(t.Context(), w.command("sh", "-c", "while read x; do echo got $x; done; echo end >&2; exit 9"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	in, out := c.Stdin(), bufio.NewReader(c.Stdout())
	for _, word := range []string{"a", "b", "c"} {
		if _, err := in.Write([]byte(word + "\n")); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); line != "got "+word+"\n" {
			t.Fatal(line, err)
		}
	}
	if end := c.Ended(); end.Exited || c.PID() <= 1 {
		t.Fatal(end)
	}
	_ = in.Close()
	<-c.Done()
	if end := c.Ended(); !end.Clean || end.Code != 9 {
		t.Fatal(end)
	}
	c.Stop()
	c.Kill() // after the end both do nothing
}

// A dump would hold the secrets of a program's environment: it can write none from its first moment on, though the host may
// write as much as this machine lets it.
func TestNoProgramLeavesADump(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: was.Max, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &was); err != nil {
			t.Error(err)
		}
	}()
	w := newWorld(t)
	w.sh(t.Context(), "grep 'core file' /proc/$PPID/limits; ulimit -c")
	if got := strings.Join(strings.Fields(w.out.Text()), " "); got != "Max core file size 0 0 bytes 0" {
		t.Fatal(got)
	}
}

func TestLimitsHold(t *testing.T) {
	w := newWorld(t)
	w.limits = process.Limits{CPU: time.Second, Memory: 256 << 20, Files: 16}
	w.sh(t.Context(), "i=0; while [ $(ulimit -n) != 16 ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done; ulimit -t; ulimit -v; ulimit -n") // the last one set
	if got := w.out.Text(); got != "1\n262144\n16\n" {
		t.Fatal(got)
	}
	if end := w.sh(t.Context(), "while :; do :; done"); end.Signal != "SIGKILL" && end.Signal != "SIGXCPU" || !end.Clean {
		t.Fatal(end)
	}
}
