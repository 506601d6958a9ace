package exec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// start asks for a background program, which must be queued.
func (w *world) start(arguments string) id.Task {
	w.t.Helper()
	r := w.call(w.t.Context(), "task.start", arguments)
	var out struct {
		Task id.Task `json:"task"`
	}
	if r.Status != effect.Succeeded || json.Unmarshal(r.Views.Model.JSON(), &out) != nil || out.Task == "" {
		w.t.Fatalf("%s %s: %s", r.Status, r.Reason, r.Sentence)
	}
	return out.Task
}

func (w *world) operator() principal.Scope {
	w.t.Helper()
	by, err := w.host.Operator(w.t.Context(), "test")
	if err != nil {
		w.t.Fatal(err)
	}
	return by
}

// until waits until a task is as wanted, at most half a minute.
func (w *world) until(key id.Task, is func(task.Task) bool) task.Task {
	w.t.Helper()
	by := w.operator()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1500 {
		got, found, err := w.store.Task(w.t.Context(), by, "", key)
		if err != nil || !found {
			w.t.Fatal(found, err)
		}
		if is(got) {
			return got
		}
		<-tick.C
	}
	got, _, _ := w.store.Task(w.t.Context(), by, "", key)
	w.t.Fatalf("it stays so: %+v", got)
	return task.Task{}
}

func over(t task.Task) bool { return t.State.Ended() }

func (w *world) log(key id.Task) string {
	w.t.Helper()
	text, found, err := w.store.TaskLog(w.t.Context(), w.operator(), "", key, 100, 1<<16)
	if err != nil || !found {
		w.t.Fatal(found, err)
	}
	return text
}

// A program is asked about as process.exec is, runs without its turn, and the next turn of its session, and no later one, is
// told of its end.
func TestABackgroundProgramOutlivesItsTurn(t *testing.T) {
	w := newWorld(t, `programs: [sh]`)
	w.follow = true
	w.file(w.work, "s.sh", "echo one\necho two >&2\nexit 0\n", 0o600)
	w.file(w.home, "cores/runner/agent/script.yaml", "version: 1\nrepeat: true\nsteps: [{say: heard}]\n", 0o600)
	key := w.start(`{"argv":["sh","s.sh"]}`)
	if len(w.asked) != 1 || w.asked[0].Tool != "task.start" || !has(w.asked[0].Plan, `"sh","s.sh"`, `"role":"script"`) {
		t.Errorf("asked %+v", w.asked)
	}
	is := w.until(key, over)
	if is.State != task.Succeeded || !has(is.Summary, "exit code 0", "one", "two") || is.Notice != task.Waiting || is.Title != "sh s.sh" {
		t.Errorf("%+v", is)
	}
	if log := w.log(key); !has(log, "one\n", "two\n") {
		t.Errorf("log %q", log)
	}
	for n := range 2 {
		res, err := w.host.Run(t.Context(), host.Request{Core: "runner", Workspace: w.work, Session: w.session, Input: "well?"}, turn.Observer{})
		if err != nil || res.Outcome() != turn.Completed {
			t.Fatal(res.Outcome(), res.Sentence(), err)
		}
		window, err := w.store.Window(t.Context(), w.operator(), res.Session(), 100, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, m := range window {
			if strings.Contains(string(m.Body), string(key)) && has(string(m.Body), "From the host, not from the user", `\u003e one`) && m.Role == "user" {
				told++
			}
		}
		if told != 1 {
			t.Errorf("after turn %d the session was told %d times", n+1, told)
		}
	}
	if is := w.until(key, over); is.Notice != task.Told || is.Told == "" {
		t.Errorf("%+v", is)
	}
}

// A task keeps the arguments byte for byte as they were approved, whatever a JSON encoder for web pages would write for them.
func TestABackgroundProgramIsToldWhatWasApproved(t *testing.T) {
	w := newWorld(t, `programs: [sh]`)
	w.file(w.work, "s.sh", `printf '%s' "$1"`, 0o600)
	for _, word := range []string{"a&<b>", "a\u2028b\u2029c", `\u003c`, "é \"q\""} {
		argv, err := json.Marshal([]string{"sh", "s.sh", word})
		if err != nil {
			t.Fatal(err)
		}
		is := w.until(w.start(`{"argv": `+string(argv)+`}`), over)
		if is.State != task.Succeeded || is.Summary != "exit code 0\n"+word {
			t.Errorf("%q: %s %s: %q", word, is.State, is.Reason, is.Summary)
		}
	}
}

// What is not what was approved any more does not run, nor what the core lets no longer.
func TestABackgroundProgramIsHeldToItsApproval(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"another script": {func(w *world) { w.file(filepath.Join(w.work, "e"), "s.sh", "touch ran\n", 0o600) }, effect.ReasonOperandChanged},
		"not listed now": {func(w *world) {
			w.edit("programs: [sh, sleep]", "programs: [sleep]")
		}, "program_not_listed"},
		"an ended session": {func(w *world) {
			if how, err := w.host.EndSession(w.t.Context(), w.operator(), w.session.Session, "enough"); err != nil || how != turn.Ended {
				w.t.Fatal(how, err)
			}
		}, turn.RejectEnded},
		"no capability now": {func(w *world) { w.edit("process.exec, task.control, ", "process.exec, ") }, "capability_missing"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, `programs: [sh, sleep]`)
			folders := []string{"a", "b", "c", "d", "e"}
			for _, folder := range folders {
				if err := os.MkdirAll(filepath.Join(w.work, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			w.file(filepath.Join(w.work, "e"), "s.sh", "touch ran\necho first\n", 0o600)
			// Every place of the worker is taken, so that the change comes between the approval and the run.
			var busy []id.Task
			for _, folder := range folders[:task.DefaultMost] {
				busy = append(busy, w.start(`{"argv":["sleep","600"],"cwd":"`+folder+`"}`))
			}
			for _, key := range busy {
				w.until(key, func(t task.Task) bool { return t.State == task.Running })
			}
			w.follow = true
			key := w.start(`{"argv":["sh","s.sh"],"cwd":"e"}`)
			c.change(w)
			for _, key := range busy {
				if _, how, err := w.store.CancelTask(t.Context(), w.operator(), "", key, w.record()); err != nil || how != task.CancelNoted {
					t.Fatal(how, err)
				}
			}
			if is := w.until(key, over); is.State != task.Failed || is.Reason != c.want {
				t.Errorf("%+v", is)
			}
			for _, key := range busy {
				if is := w.until(key, over); is.State != task.Cancelled {
					t.Errorf("%+v", is)
				}
			}
			if _, err := os.Stat(filepath.Join(w.work, "e", "ran")); err == nil {
				t.Error("it ran")
			}
		})
	}
}

func TestBackgroundProgramsThatAreRefused(t *testing.T) {
	w := newWorld(t, `programs: [sh, sleep]`)
	w.secret("DEPLOY_TOKEN", "swordfish-and-more-of-it")
	w.follow = true
	key := w.start(`{"argv":["sleep","600"]}`)
	if err := os.Mkdir(filepath.Join(w.work, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"argv":["sleep","1"]}`:                                        "folder_busy",
		`{"argv":["sleep","1"],"cwd":"in"}`:                             "folder_busy",
		`{"argv":["cat"]}`:                                              "program_not_listed",
		`{"argv":["sleep","1"],"secrets":{"TOKEN":"DEPLOY_TOKEN"}}`:     "arguments_schema",
		`{"argv":["sleep","1"],"timeout_ms":86400001}`:                  "arguments_schema",
		`{"argv":["sh","-c","echo swordfish-and-more-of-it"],"cwd":""}`: "arguments_schema",
	} {
		if r := w.call(t.Context(), "task.start", arguments); r.Status == effect.Succeeded || r.Reason != want {
			t.Errorf("%s: %s, %s", arguments, r.Status, r.Reason)
		}
	}
	// Another session does not see the task, and this one may end it.
	mine := w.session
	w.session, w.follow = turn.Selector{Kind: turn.Fresh}, false
	for _, tool := range []string{"task.status", "task.logs", "task.cancel"} {
		if r := w.call(t.Context(), tool, `{"task":"`+string(key)+`"}`); r.Reason != "task_not_found" {
			t.Errorf("%s from another session: %s, %s", tool, r.Status, r.Reason)
		}
	}
	if r := w.call(t.Context(), "task.list", `{}`); r.Views.Model.String() != `{"tasks":[]}` {
		t.Errorf("another session lists %s", r.Views.Model)
	}
	w.session = mine
	w.until(key, func(t task.Task) bool { return t.State == task.Running })
	if r := w.call(t.Context(), "task.list", `{"state":"running"}`); !has(r.Views.Model.String(), string(key), `"running":true`) {
		t.Errorf("listed %s", r.Views.Model)
	}
	if r := w.call(t.Context(), "task.cancel", `{"task":"`+string(key)+`"}`); r.Status != effect.Succeeded || !has(r.Views.Model.String(), `"cancel_requested":true`) {
		t.Errorf("cancel: %s, %s", r.Status, r.Views.Model)
	}
	if is := w.until(key, over); is.State != task.Cancelled {
		t.Errorf("%+v", is)
	}
}

// A person who says no has nothing queued, and a core without task.control has no such tool.
func TestNoBackgroundProgramWithoutApprovalOrCapability(t *testing.T) {
	w := newWorld(t, `programs: [sleep]`)
	w.answer = func(approval.Question) approval.Answer { return approval.Answer{State: approval.Denied} }
	if r := w.call(t.Context(), "task.start", `{"argv":["sleep","1"]}`); r.Status != effect.Denied {
		t.Errorf("%s, %s", r.Status, r.Reason)
	}
	if all, err := w.store.Tasks(t.Context(), w.operator(), "", "", 0, 10); len(all) != 0 || err != nil {
		t.Errorf("%d tasks, %v", len(all), err)
	}
	w.edit("process.exec, task.control, ", "process.exec, ")
	for _, tool := range []string{"task.start", "task.list", "task.cancel"} {
		if r := w.call(t.Context(), tool, `{}`); r.Status != effect.NotFound {
			t.Errorf("%s: %s", tool, r.Status)
		}
	}
}

// A host that is closed ends the programs of its tasks, and says so.
func TestAHostThatClosesEndsItsTasks(t *testing.T) {
	w := newWorld(t, `programs: [sleep]`)
	key := w.start(`{"argv":["sleep","600"]}`)
	w.until(key, func(t task.Task) bool { return t.State == task.Running })
	by, err := principal.NewIssuer(string(w.store.StoreID())).Issue(principal.Facts{PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.host.Close(); err != nil {
		t.Fatal(err)
	}
	is, found, err := w.store.Task(t.Context(), by, "", key)
	if err != nil || !found || is.State != task.Cancelled || is.Reason != task.ReasonHostClosed {
		t.Errorf("%+v, %v", is, err)
	}
}
