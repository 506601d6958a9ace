//go:build unix

package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// terminal is a real terminal with a `portcullis` in a process of its own at the other end.
type terminal struct {
	t    *testing.T
	keys *os.File
	out  chan []byte
	seen bytes.Buffer // everything the program wrote
	read int          // how much of it a test has looked at
	cmd  *exec.Cmd
}

// patience is how long a test waits for something to appear on the screen before it gives up.
const patience = 2 * time.Minute

func startTerminal(t *testing.T, s shared, home string, args ...string) *terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "portcullis") // the name that TestMain knows
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, out: make(chan []byte, 256), cmd: exec.CommandContext(t.Context(), program, args...)}
	x.cmd.Env = append(os.Environ(), "PORTCULLIS_HOME="+home, "TERM=xterm", "NO_COLOR=1")
	for name, value := range s.env {
		x.cmd.Env = append(x.cmd.Env, name+"="+value)
	}
	if x.keys, err = pty.StartWithSize(x.cmd, &pty.Winsize{Rows: 40, Cols: 200}); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(x.out)
		for {
			buf := make([]byte, 4096)
			n, err := x.keys.Read(buf)
			if n > 0 {
				x.out <- buf[:n]
			}
			if err != nil {
				return // the program has left; Linux says EIO
			}
		}
	}()
	t.Cleanup(func() { _ = x.keys.Close() })
	return x
}

// until waits for a text that was not looked at yet and returns what came before it.
func (x *terminal) until(text string) string {
	x.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		fresh := x.seen.Bytes()[x.read:]
		if i := bytes.Index(fresh, []byte(text)); i >= 0 {
			x.read += i + len(text)
			return string(fresh[:i])
		}
		select {
		case more, ok := <-x.out:
			if !ok {
				x.t.Fatalf("the program left before %q appeared; the screen:\n%s", text, x.seen.String())
			}
			x.seen.Write(more)
		case <-late.C:
			x.t.Fatalf("%q did not appear; the screen:\n%s", text, x.seen.String())
		}
	}
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.keys, keys); err != nil {
		x.t.Fatal(err)
	}
}

// exit waits for the program and wants its exit code.
func (x *terminal) exit(want int) {
	x.t.Helper()
	for more := range x.out {
		x.seen.Write(more)
	}
	got := 0
	if err := x.cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			x.t.Fatal(err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		x.t.Errorf("exit code %d, want %d; the screen:\n%s", got, want, x.seen.String())
	}
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

const writing = `version: 1
repeat: true
steps:
  - call:
      - {tool: files.write, args: {path: FILE, content: "one\u001b[2J\u202etwo", overwrite: true}}
  - say: That is all.
`

// TestQuestionsOnATerminal drives `portcullis chat` as a person would.
func TestQuestionsOnATerminal(t *testing.T) {
	s := share(t)
	begin := func(t *testing.T) (x *terminal, file string) {
		home := filepath.Join(t.TempDir(), "home")
		copyHome(t, s.home, home)
		script := filepath.Join(t.TempDir(), "script.yaml")
		if err := os.WriteFile(script, []byte(strings.ReplaceAll(writing, "FILE", "note.txt")), 0o600); err != nil {
			t.Fatal(err)
		}
		x = startTerminal(t, s, home, "chat", "--script", script)
		x.until("you> ")
		return x, filepath.Join(home, "workspace", "note.txt")
	}
	leave := func(x *terminal) {
		x.until("you> ")
		x.press("/quit\n")
		x.exit(console.ExitDone)
	}
	exists := func(t *testing.T, file string, want bool) {
		t.Helper()
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("the file is there: %v, want %v", err == nil, want)
		}
	}

	t.Run("allow once shows everything and asks again the next time", func(t *testing.T) {
		x, file := begin(t)
		x.press("write it\n")
		question := x.until("[a/s/d]> ")
		for _, want := range []string{
			"files.write wants to run (risk medium)", "uses       fs.write", `"path":"note.txt"`, `one\u001b[2J\u202etwo`, "a        allow this call, this once",
		} {
			if !strings.Contains(question, want) {
				t.Errorf("the question lacks %q:\n%s", want, question)
			}
		}
		exists(t, file, false)
		x.press("a\n")
		x.until("succeeded")
		exists(t, file, true)
		x.until("you> ")
		x.press("again\n")
		x.until("[a/s/d]> ")
		x.press("x\n")
		x.until("that is not one of the answers")
		x.until("[a/s/d]> ") // what is typed before it is thrown away
		x.press("d\n")
		x.until("denied")
		leave(x)
		if strings.Contains(x.seen.String(), "\u202e") {
			t.Error("the terminal was given a direction mark")
		}
	})

	t.Run("for this session covers the next call", func(t *testing.T) {
		x, _ := begin(t)
		x.press("write it\n")
		x.until("[a/s/d]> ")
		x.press("s\n")
		x.until("That is all.")
		x.until("you> ")
		x.press("again\n")
		if second := x.until("That is all."); strings.Contains(second, "[a/s/d]") {
			t.Errorf("a covered call was asked about:\n%s", second)
		}
		leave(x)
	})

	t.Run("what was typed before the question is no answer", func(t *testing.T) {
		x, file := begin(t)
		x.press("write it\na\n") // both lines are there before the question is
		x.until("[a/s/d]> ")
		exists(t, file, false)
		x.press("d\n")
		x.until("denied")
		exists(t, file, false)
		leave(x)
	})

	t.Run("the end of the input is no", func(t *testing.T) {
		x, file := begin(t)
		x.press("write it\n")
		x.until("[a/s/d]> ")
		x.press(ctrlD)
		x.until("denied")
		exists(t, file, false)
		leave(x)
	})

	t.Run("Ctrl-C cancels the turn and not the program", func(t *testing.T) {
		x, file := begin(t)
		x.press("write it\n")
		x.until("[a/s/d]> ")
		x.press(ctrlC)
		x.until("turn cancelled")
		exists(t, file, false)
		x.until("you> ")
		x.press(ctrlC)
		x.until("Ctrl-C again, or /quit, leaves")
		x.until("you> ")
		x.press(ctrlC)
		x.exit(console.ExitDone)
	})
}
