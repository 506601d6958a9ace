package evasion_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/conformance/gatetest"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/exec"
	"github.com/b3abf3ee/portcullis/host/process"
)

func TestMain(m *testing.M) {
	if process.IsKeeper(os.Args) {
		os.Exit(process.Keep())
	}
	os.Exit(m.Run())
}

// attempt is the scene of one row: a person, a turn of theirs, a plain tool, and the builtins that run programs.
type attempt struct {
	*testing.T
	w     *gatetest.World
	p     *person
	turn  binding.Turn
	bin   string // a folder of programs that do nothing, under the names that matter
	tool  effect.Tool
	ran   int // how often the plain tool ran
	held  int // verdicts that the row has come to
	setup effect.Setup
	rule  core.Process
}

// assistant is the core of every row that has no other.
func assistant() gatetest.Core {
	return gatetest.Core{ID: "assistant", Revision: "r1", Capabilities: []string{"tool.call:*", "process.exec"}}
}

func newAttempt(t *testing.T, bin string) *attempt {
	x := &attempt{T: t, p: &person{}, bin: bin, rule: core.Process{Programs: []string{core.AnyProgram}, Environment: []string{"FOO"}, Timeout: time.Minute}}
	x.w = gatetest.New(t, approval.Config{Prompter: x.p})
	x.turn = x.w.Admit(gatetest.Talker("a"), gatetest.Fresh(), assistant())
	x.tool = gatetest.Tool("files.write", counter(&x.ran))
	x.says(approval.Allowed, approval.ForSession)
	return x
}

func (x *attempt) says(s approval.State, r approval.Reach) {
	x.p.says = approval.Answer{State: s, Reach: r}
}

// call passes a call of the plain tool through the gate.
func (x *attempt) call(key string) effect.Result {
	x.Helper()
	args, err := json.Marshal(map[string]string{"key": key})
	if err != nil {
		x.Fatal(err)
	}
	return x.w.Run(x.Context(), x.turn, x.setup, x.tool, args)
}

// file writes a file of the workspace.
func (x *attempt) file(name, text string) string {
	x.Helper()
	at := filepath.Join(x.turn.Workspace(), name)
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		x.Fatal(err)
	}
	return at
}

// program is what process.exec and process.shell are asked for.
type program struct {
	Argv    []string          `json:"argv,omitempty"`
	Command string            `json:"command,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Stdin   string            `json:"stdin,omitempty"`
}

// run passes words to process.exec.
func (x *attempt) run(argv ...string) effect.Result { x.Helper(); return x.start(program{Argv: argv}) }

// start passes a program through the gate; a tool that the core is not offered is unknown, as it is to a model.
func (x *attempt) start(p program) effect.Result {
	x.Helper()
	keeper, err := process.SelfKeeper()
	if err != nil {
		x.Fatal(err)
	}
	home := x.TempDir()
	source := exec.New(exec.Config{
		Engine: process.Open(process.Config{Keeper: keeper, Most: 2, Clock: time.Now}), Digests: &process.Digests{}, UID: -1,
		Artifacts: &process.Artifacts{Dir: home, Each: process.DefaultArtifact, Count: process.DefaultArtifacts, Bytes: process.DefaultArtifactTotal},
		Lookup: func(name string) (string, bool) {
			if name == "PATH" {
				return x.bin, true
			}
			return "", false
		},
	}, "assistant", x.rule)
	tools, err := source.Offered(x.turn.Core().Capabilities)
	if err != nil {
		x.Fatal(err)
	}
	args, err := json.Marshal(p)
	if err != nil {
		x.Fatal(err)
	}
	name := exec.Tool
	if p.Command != "" {
		name = exec.ShellTool
	}
	at := slices.IndexFunc(tools, func(t effect.Tool) bool { return t.Name == name })
	if at < 0 {
		return x.w.Runtime.Unknown(x.Context(), effect.Request{ID: x.w.IDs.Effect(), Arguments: args}, name, x.turn)
	}
	return x.w.Run(x.Context(), x.turn, x.setup, tools[at], args)
}

// allowed wants a call to have run under an answer that was given for it now.
func (x *attempt) allowed(res effect.Result) {
	x.Helper()
	if !res.Started || res.Status != effect.Succeeded {
		x.Fatalf("what was allowed did not run: %s %s: %s", res.Status, res.Reason, res.Sentence)
	}
}

// refused is the verdict that a call did not start, for one of these reasons.
func (x *attempt) refused(res effect.Result, reasons ...string) {
	x.Helper()
	x.held++
	if res.Started && res.Reason != effect.ReasonOperandChanged || res.Status == effect.Succeeded || !slices.Contains(reasons, res.Reason) {
		x.Errorf("%s %s (started %v): %s; refused for %q was due", res.Status, res.Reason, res.Started, res.Sentence, reasons)
	}
}

// asks is the verdict that a person is asked about a call, and that their no holds.
func (x *attempt) asks(call func() effect.Result) approval.Question {
	x.Helper()
	x.held++
	asked, ran := len(x.p.asked), x.ran
	x.says(approval.Denied, "")
	res := call()
	if len(x.p.asked) != asked+1 || res.Started || res.Reason != approval.ReasonDenied || x.ran != ran {
		x.Errorf("%s %s (started %v) after %d questions: %s; a question was due", res.Status, res.Reason, res.Started, len(x.p.asked)-asked, res.Sentence)
		return approval.Question{}
	}
	return x.p.asked[asked]
}

// never is the verdict that what was just allowed, even for the session, is asked about the next time.
func (x *attempt) never(call func() effect.Result) {
	x.Helper()
	res := call()
	if len(x.p.asked) == 0 {
		x.held++
		x.Errorf("nobody was asked: %s %s: %s", res.Status, res.Reason, res.Sentence)
		return
	}
	if q := x.p.asked[len(x.p.asked)-1]; q.Cacheable {
		x.Errorf("an allowance for the session was offered for %s %s", q.Arguments, q.Plan)
	}
	x.asks(call)
}

// programs is a folder of programs that do nothing, one under each name that the rows need.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name := range strings.FieldsSeq("git env sh bash zsh busybox sudo nice nohup timeout xargs setsid stdbuf script flock strace find sort tar awk perl python3 node make npm ssh grep echo cat ls true go") {
		copyFile(t, "/bin/true", filepath.Join(dir, name))
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
