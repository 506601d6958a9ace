package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func (w *world) untold(t testing.TB, by principal.Scope, s id.Session) []turn.Notice {
	t.Helper()
	got, err := w.Store.Untold(w.ctx, by, s, turn.MaxNotices)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func taskTold(t *testing.T, w *world) {
	first, l := w.task(t, alice())
	second := w.queue(t, w.newTask(l))
	w.finish(t, l, turn.Completed)
	by := w.scope(t, alice(), l.session)
	for _, k := range []task.Task{w.take(t), w.take(t)} {
		if news := w.untold(t, by, l.session); len(news) > 1 {
			t.Errorf("told of one that runs: %+v", news)
		}
		if how, err := w.endTask(k, task.Succeeded); how != task.Written || err != nil {
			t.Fatal(how, err)
		}
	}
	news := w.untold(t, by, l.session)
	if len(news) != 2 || news[0].Task != first.ID || news[1].Task != second.ID || news[0].State != "succeeded" || news[0].Summary != "exit code 0" {
		t.Fatalf("news %+v", news)
	}
	other := w.start(t, bob(), bound())
	if got := w.untold(t, w.scope(t, bob(), other.session), l.session); len(got) != 0 {
		t.Errorf("a stranger hears %+v", got)
	}
	next := w.start(t, alice(), resume(l.session))
	tell := func(to live, of ...id.Task) (turn.Fenced, error) {
		return w.Store.Tell(w.ctx, to.turn, to.claim, w.message(to, "user", `{"told":true}`), of)
	}
	for name, of := range map[string][]id.Task{"nothing": nil, "twice the same": {first.ID, first.ID}, "an unknown one": {first.ID, "tsk_unknown"}} {
		if how, err := tell(next, of...); err == nil {
			t.Errorf("%s: %q", name, how)
		}
	}
	if how, err := tell(other, first.ID); err == nil {
		t.Errorf("another session's turn was told: %q", how)
	}
	stale := next
	stale.claim.Fence++
	if how, err := tell(stale, first.ID); how != turn.Stale || err != nil {
		t.Errorf("stale: %q, %v", how, err)
	}
	before, err := w.Store.Window(w.ctx, by, l.session, 10, 1000)
	if err != nil || len(before) != 0 || len(w.untold(t, by, l.session)) != 2 {
		t.Fatalf("a refused telling left %d messages, %v", len(before), err)
	}
	if how, err := tell(next, first.ID, second.ID); how != turn.Written || err != nil {
		t.Fatal(how, err)
	}
	if after, err := w.Store.Window(w.ctx, by, l.session, 10, 1000); err != nil || len(after) != 1 || len(w.untold(t, by, l.session)) != 0 {
		t.Errorf("%d messages, %v", len(after), err)
	}
	if is := w.taskOf(t, first.ID); is.Notice != task.Told || is.Told != next.turn {
		t.Errorf("%+v", is)
	}
	if how, err := tell(next, first.ID); err == nil {
		t.Errorf("told again: %q", how)
	}
}

func taskOwned(t *testing.T, w *world) {
	mine, l := w.task(t, alice())
	w.Clock.Advance(time.Second)
	later := w.queue(t, w.newTask(l))
	theirs, other := w.task(t, bob())
	by := w.scope(t, alice(), l.session)
	list := func(by principal.Scope, state task.State) (out []id.Task) {
		t.Helper()
		all, err := w.Store.Tasks(w.ctx, by, "", state, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range all {
			out = append(out, k.ID)
		}
		return out
	}
	if got := list(by, ""); len(got) != 2 || got[0] != later.ID || got[1] != mine.ID {
		t.Errorf("alice sees %v", got)
	}
	if got := list(w.operator(t), task.Queued); len(got) != 3 || got[2] != mine.ID {
		t.Errorf("the operator sees %v", got)
	}
	if got := list(by, task.Lost); len(got) != 0 {
		t.Errorf("lost: %v", got)
	}
	for _, key := range []id.Task{theirs.ID, "tsk_unknown"} {
		if _, found, err := w.Store.Task(w.ctx, by, "", key); found || err != nil {
			t.Errorf("alice reads %s: %v", key, err)
		}
		if text, found, err := w.Store.TaskLog(w.ctx, by, "", key, 10, 100); found || text != "" || err != nil {
			t.Errorf("alice reads the log of %s: %v", key, err)
		}
	}
	if _, found, err := w.Store.Task(w.ctx, w.scope(t, bob(), other.session), "", theirs.ID); !found || err != nil {
		t.Errorf("bob does not see his own: %v", err)
	}
	op := w.operator(t) // whoever sees more may ask for one session alone
	if all, err := w.Store.Tasks(w.ctx, op, other.session, "", 0, 10); err != nil || len(all) != 1 || all[0].ID != theirs.ID {
		t.Errorf("within bob's session: %v, %v", all, err)
	}
	before := w.events(t, turn.EventQuery{Kind: event.LookupDenied})
	if _, found, err := w.Store.Task(w.ctx, op, other.session, mine.ID); found || err != nil {
		t.Errorf("alice's task within bob's session: %v", err)
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.LookupDenied}); len(recs) != len(before)+1 || recs[0].Field("reason") != "not_authorized" {
		t.Errorf("%d records of what was denied, were %d: %+v", len(recs), len(before), recs[0])
	}
	if _, found, err := w.Store.TaskLog(w.ctx, op, other.session, mine.ID, 1, 1); found || err != nil {
		t.Errorf("alice's log within bob's session: %v", err)
	}
	if _, how, err := w.Store.CancelTask(w.ctx, op, other.session, mine.ID, w.record(event.TaskCancelAsked)); how != task.CancelNoTask || err != nil {
		t.Errorf("alice's task was cancelled within bob's session: %q, %v", how, err)
	}
	for _, limit := range []int{0, 502} {
		if _, err := w.Store.Tasks(w.ctx, by, "", "", 0, limit); err == nil {
			t.Errorf("limit %d", limit)
		}
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.LookupDenied}); len(recs) != 7 {
		t.Errorf("%d denials on record", len(recs))
	}
}

func taskLogged(t *testing.T, w *world) {
	_, l := w.task(t, alice())
	k := w.take(t)
	by := w.scope(t, alice(), l.session)
	read := func(lines, bytes int) string {
		t.Helper()
		text, found, err := w.Store.TaskLog(w.ctx, by, "", k.ID, lines, bytes)
		if err != nil || !found {
			t.Fatal(found, err)
		}
		return text
	}
	add := func(text string) {
		t.Helper()
		if how, err := w.Store.AppendTaskLog(w.ctx, k.ID, k.Claim, text, w.Clock.Now()); how != task.Written || err != nil {
			t.Fatal(how, err)
		}
	}
	if read(10, 100) != "" {
		t.Error("a log before the first line")
	}
	add("one\ntwo\nthr")
	add("ee\nfour")
	for lines, want := range map[int]string{1: "four", 2: "three\nfour", 3: "two\nthree\nfour", 9: "one\ntwo\nthree\nfour"} {
		if got := read(lines, 100); got != want {
			t.Errorf("%d lines: %q", lines, got)
		}
	}
	if got := read(9, 6); got != "e\nfour" {
		t.Errorf("6 bytes: %q", got)
	}
	add("\n")
	if got := read(2, 100); got != "three\nfour\n" {
		t.Errorf("with its line end: %q", got)
	}
	for _, bad := range []string{"", "\xff", strings.Repeat("x", task.MaxChunk+1)} {
		if how, err := w.Store.AppendTaskLog(w.ctx, k.ID, k.Claim, bad, w.Clock.Now()); err == nil {
			t.Errorf("%.5q: %q", bad, how)
		}
	}
	for n := range 40 { // 320 KiB
		add(strings.Repeat(fmt.Sprint(n%10), task.MaxChunk-1) + "\n")
	}
	if got := read(task.MaxLogLines, task.MaxLogBytes); len(got) > task.MaxLogBytes || len(got) < task.MaxLogBytes-task.MaxChunk || !strings.HasSuffix(got, "9\n") {
		t.Errorf("%d bytes are kept, ending in %q", len(got), got[len(got)-2:])
	}
	for range 3 { // 6000 lines
		add(strings.Repeat("y\n", 2000))
	}
	if n := strings.Count(read(task.MaxLogLines, task.MaxLogBytes), "\n"); n != task.MaxLogLines {
		t.Errorf("%d lines are kept", n)
	}
	if is := w.taskOf(t, k.ID); is.LogLines != 4+40+6000 || is.LogBytes != int64(len("one\ntwo\nthree\nfour\n")+40*task.MaxChunk+12000) {
		t.Errorf("counted %d lines, %d bytes", is.LogLines, is.LogBytes)
	}
}
