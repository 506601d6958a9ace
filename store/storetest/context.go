package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func contextCases() []testCase {
	return []testCase{
		{"a summary and its cutoff come together", summaryCommits},
		{"one writes a summary at a time", oneCompacts},
		{"the lease of a dead host holds nobody up", compactionRecovered},
		{"a summary only goes on", summaryGoesOn},
		{"a failed summary rests", compactionRests},
		{"a context is its owner's", contextOwned},
		{"a window is read on from where it was read", windowGoesOn},
		{"an observation counts once", observedOnce},
		{"an observation that cannot be stored is told once", observationLost},
		{"an observation is there with the end of its turn", observedWithTheEnd},
		{"the next turn is told what earlier ones left uncertain", leftByTurns},
		{"what was settled is told to one turn, and what is open to every one", leftOnce},
		{"what turns left is their owner's, and bounded", leftBounds},
		{"a call that ended and that no message answers is told until a turn has an answer", leftUnanswered},
		{"a call that ended and that no message answers is told for so many messages", leftLongAgo},
	}
}

// history is a session with n stored messages.
func (w *world) history(t *testing.T, n int) (live, []turn.Message) {
	t.Helper()
	l := w.start(t, alice(), bound())
	var all []turn.Message
	for i := range n {
		all = append(all, w.message(l, "user", fmt.Sprint(i)))
	}
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, all); err != nil || how != turn.Written {
		t.Fatal(how, err)
	}
	return l, all
}

func (w *world) writer() lease.Claim {
	return lease.Claim{Token: w.ids.Lease(), Epoch: w.epoch, Expires: w.Clock.Now().Add(time.Minute)}
}

func (w *world) lease(t *testing.T, l live, c lease.Claim, revision int64) prompt.LeaseAnswer {
	t.Helper()
	how, err := w.Store.LeaseCompaction(w.ctx, l.session, c, revision)
	if err != nil {
		t.Fatal(err)
	}
	return how
}

func (w *world) summarise(t *testing.T, l live, c lease.Claim, revision int64, cutoff turn.Message) bool {
	t.Helper()
	ok, err := w.Store.CommitSummary(w.ctx, l.session, c, revision, prompt.Summary{
		Text: fmt.Sprint("sum ", revision+1), Cutoff: cutoff.ID, Model: "m", At: w.Clock.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func (w *world) context(t *testing.T, l live, limit, bytes int) (prompt.Snapshot, []string) {
	t.Helper()
	got, err := w.Store.Context(w.ctx, w.operator(t), l.session, prompt.Mark{}, limit, bytes)
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for _, m := range got.Messages {
		bodies = append(bodies, string(m.Body))
	}
	return got, bodies
}

func summaryCommits(t *testing.T, w *world) {
	l, all := w.history(t, 6)
	got, bodies := w.context(t, l, 10, 1000)
	if got.Revision != 0 || got.Summary != (prompt.Summary{}) || got.Older || len(bodies) != 6 {
		t.Errorf("without a summary: %+v, %q", got, bodies)
	}
	if got, bodies := w.context(t, l, 4, 1000); !got.Older || !slices.Equal(bodies, []string{"2", "3", "4", "5"}) {
		t.Errorf("the newest four: %v %q", got.Older, bodies)
	}
	if got, bodies := w.context(t, l, 10, 2); !got.Older || !slices.Equal(bodies, []string{"4", "5"}) {
		t.Errorf("two bytes: %v %q", got.Older, bodies)
	}
	c := w.writer()
	if how := w.lease(t, l, c, 0); how != prompt.Acquired {
		t.Fatal(how)
	}
	if !w.summarise(t, l, c, 0, all[3]) {
		t.Fatal("not committed")
	}
	got, bodies = w.context(t, l, 10, 1000)
	if got.Revision != 1 || got.Summary.Text != "sum 1" || got.Summary.Cutoff != all[3].ID || got.Summary.Model != "m" || got.Summary.At.IsZero() {
		t.Errorf("the summary: %+v", got)
	}
	if got.Older || !slices.Equal(bodies, []string{"4", "5"}) {
		t.Errorf("after the cutoff: %v %q", got.Older, bodies)
	}
}

func compactionRecovered(t *testing.T, w *world) {
	l, all := w.history(t, 3)
	dead := w.writer()
	if how := w.lease(t, l, dead, 0); how != prompt.Acquired {
		t.Fatal(how)
	}
	restart := func(epoch id.Epoch) {
		t.Helper()
		if _, err := w.Store.Recover(w.ctx, epoch, w.Clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	restart(w.epoch)
	if how := w.lease(t, l, w.writer(), 0); how != prompt.Held {
		t.Errorf("its own host took a lease away: %s", how)
	}
	next := w.writer()
	next.Epoch = w.ids.Epoch()
	restart(next.Epoch)
	if w.summarise(t, l, dead, 0, all[0]) {
		t.Error("a writer of the dead host committed")
	}
	if how := w.lease(t, l, next, 0); how != prompt.Acquired {
		t.Errorf("the next host: %s", how)
	}
	if !w.summarise(t, l, next, 0, all[0]) {
		t.Error("the next host did not commit")
	}
}

func oneCompacts(t *testing.T, w *world) {
	l, all := w.history(t, 3)
	first, second := w.writer(), w.writer()
	if how := w.lease(t, l, first, 0); how != prompt.Acquired {
		t.Fatal(how)
	}
	if how := w.lease(t, l, second, 0); how != prompt.Held {
		t.Errorf("a second writer: %s", how)
	}
	if w.summarise(t, l, second, 0, all[0]) {
		t.Error("a writer without the lease committed")
	}
	w.Clock.Advance(2 * time.Minute)
	if w.summarise(t, l, first, 0, all[0]) {
		t.Error("a writer whose lease is over committed")
	}
	second = w.writer()
	if how := w.lease(t, l, second, 0); how != prompt.Acquired {
		t.Errorf("a lease that is over was not taken over: %s", how)
	}
	if !w.summarise(t, l, second, 0, all[0]) || w.summarise(t, l, second, 0, all[1]) {
		t.Error("a lease commits once")
	}
	if how := w.lease(t, l, w.writer(), 0); how != prompt.Moved {
		t.Errorf("after the summary: %s", how)
	}
	third := w.writer()
	if how := w.lease(t, l, third, 1); how != prompt.Acquired || w.summarise(t, l, third, 0, all[1]) {
		t.Errorf("under a lease of the next revision (%s) a summary of the one before was committed", how)
	}
	if how, err := w.Store.LeaseCompaction(w.ctx, l.session, first, 1); err == nil {
		t.Errorf("a claim that is over: %s", how)
	}
}

func summaryGoesOn(t *testing.T, w *world) {
	l, all := w.history(t, 4)
	other, theirs := w.start(t, bob(), bound()), w.message(live{}, "user", "1")
	theirs.Turn = other.turn
	if how, err := w.Store.Append(w.ctx, other.turn, other.claim, []turn.Message{theirs}); err != nil || how != turn.Written {
		t.Fatal(how, err)
	}
	commit := func(revision int64, cutoff turn.Message) bool {
		t.Helper()
		c := w.writer()
		if how := w.lease(t, l, c, revision); how != prompt.Acquired {
			t.Fatalf("revision %d: %s", revision, how)
		}
		return w.summarise(t, l, c, revision, cutoff)
	}
	if commit(0, theirs) || commit(0, turn.Message{ID: w.ids.Message()}) {
		t.Error("a summary that stands for another session's message, or for none")
	}
	if !commit(0, all[1]) {
		t.Fatal("not committed")
	}
	if how := w.lease(t, l, w.writer(), 0); how != prompt.Moved {
		t.Errorf("a lease for a revision that is gone: %s", how)
	}
	if commit(1, all[0]) || commit(1, all[1]) {
		t.Error("a summary went back")
	}
	if !commit(1, all[2]) {
		t.Error("a summary did not go on")
	}
	if got, _ := w.context(t, l, 10, 1000); got.Revision != 2 || got.Summary.Text != "sum 2" {
		t.Errorf("%+v", got)
	}
}

func compactionRests(t *testing.T, w *world) {
	l, _ := w.history(t, 2)
	c := w.writer()
	if how := w.lease(t, l, c, 0); how != prompt.Acquired {
		t.Fatal(how)
	}
	release := func(c lease.Claim, rest time.Time) {
		t.Helper()
		if err := w.Store.ReleaseCompaction(w.ctx, l.session, c, rest); err != nil {
			t.Fatal(err)
		}
	}
	release(w.writer(), time.Time{})
	if how := w.lease(t, l, w.writer(), 0); how != prompt.Held {
		t.Errorf("another's release ended the lease: %s", how)
	}
	release(c, w.Clock.Now().Add(30*time.Second))
	if how := w.lease(t, l, w.writer(), 0); how != prompt.Resting {
		t.Errorf("while it rests: %s", how)
	}
	w.Clock.Advance(31 * time.Second)
	c = w.writer()
	if how := w.lease(t, l, c, 0); how != prompt.Acquired {
		t.Errorf("after the rest: %s", how)
	}
	release(c, time.Time{})
	if how := w.lease(t, l, w.writer(), 0); how != prompt.Acquired {
		t.Errorf("after a release without rest: %s", how)
	}
}

func contextOwned(t *testing.T, w *world) {
	l, _ := w.history(t, 2)
	theirs := w.start(t, bob(), bound())
	got, err := w.Store.Context(w.ctx, w.scope(t, bob(), theirs.session), l.session, prompt.Mark{}, 10, 1000)
	if err != nil || len(got.Messages) != 0 || got.Revision != 0 {
		t.Errorf("another's session: %+v, %v", got, err)
	}
	if got, err := w.Store.Context(w.ctx, w.scope(t, alice(), l.session), l.session, prompt.Mark{}, 10, 1000); err != nil || len(got.Messages) != 2 {
		t.Errorf("the own session: %+v, %v", got, err)
	}
	if _, err := w.Store.Context(w.ctx, w.operator(t), l.session, prompt.Mark{}, 0, 1000); err == nil {
		t.Error("a window of no messages")
	}
}

func windowGoesOn(t *testing.T, w *world) {
	l, stored := w.history(t, 4)
	other := w.start(t, bob(), bound())
	theirs := w.message(other, "user", "0")
	if how, err := w.Store.Append(w.ctx, other.turn, other.claim, []turn.Message{theirs}); err != nil || how != turn.Written {
		t.Fatal(how, err)
	}
	by, all := w.operator(t), []string{"0", "1", "2", "3"}
	want := func(what string, by principal.Scope, since prompt.Mark, limit, bytes int, joins, older bool, bodies ...string) prompt.Snapshot {
		t.Helper()
		got, err := w.Store.Context(w.ctx, by, l.session, since, limit, bytes)
		if err != nil {
			t.Fatal(err)
		}
		var read []string
		for _, m := range got.Messages {
			read = append(read, string(m.Body))
		}
		if got.Joins != joins || got.Older != older || !slices.Equal(read, bodies) {
			t.Errorf("%s: joins %v, older %v, %q", what, got.Joins, got.Older, read)
		}
		return got
	}
	at := func(revision int64, n int) prompt.Mark { return prompt.Mark{Revision: revision, Last: stored[n].ID} }
	want("from the second on", by, at(0, 1), 10, 100, true, false, all[2:]...)
	want("nothing new", by, at(0, 3), 10, 100, true, false)
	want("a gap", by, at(0, 0), 2, 100, true, true, all[2:]...)
	want("a gap of bytes", by, at(0, 0), 10, 1, true, true, all[3:]...)
	want("from nowhere", by, prompt.Mark{Last: w.ids.Message()}, 10, 100, false, false, all...)
	want("from another session", by, prompt.Mark{Last: theirs.ID}, 10, 100, false, false, all...)
	want("from another summary", by, at(1, 1), 10, 100, false, false, all...)
	want("out of reach", w.scope(t, bob(), other.session), at(0, 1), 10, 100, false, false)

	c := w.writer()
	if how := w.lease(t, l, c, 0); how != prompt.Acquired || !w.summarise(t, l, c, 0, stored[1]) {
		t.Fatalf("no summary: %q", how)
	}
	if got := want("of the summary before", by, at(0, 2), 10, 100, false, false, all[2:]...); got.Summary.Text != "sum 1" || got.Revision != 1 {
		t.Errorf("%+v", got)
	}
	if got := want("of the summary", by, at(1, 2), 10, 100, true, false, all[3:]...); got.Summary != (prompt.Summary{}) || got.Revision != 1 {
		t.Errorf("%+v", got)
	}
	want("what the summary stands for", by, at(1, 0), 10, 100, false, false, all[2:]...)
	want("at its cutoff", by, at(1, 1), 10, 100, false, false, all[2:]...)
}

// observe waits until an observation is kept.
func (w *world) observe(o prompt.Observation) (prompt.Calibration, error) {
	kept, err := w.Store.Observe(w.ctx, o)
	if err != nil {
		return prompt.Calibration{}, err
	}
	return kept(w.ctx)
}

func observedOnce(t *testing.T, w *world) {
	l, _ := w.history(t, 1)
	o := prompt.Observation{
		Decision: w.ids.Decision(), Session: l.session, Turn: l.turn, Step: 1, Provider: "p/m", Estimate: 1000,
		Usage: provider.Usage{Input: 1000, CacheRead: 500, Output: 7, Reported: true}, FinishReason: "stop", At: w.Clock.Now(),
	}
	for range 2 {
		got, err := w.observe(o)
		if err != nil || got != (prompt.Calibration{Samples: 1, Ratio: 1.5}) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	o.Decision, o.Usage.Reported = w.ids.Decision(), false
	if got, err := w.observe(o); err != nil || got.Samples != 1 {
		t.Errorf("a report of nothing: %+v, %v", got, err)
	}
	if got, err := w.Store.Calibration(w.ctx, "p/m"); err != nil || got.Ratio != 1.5 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := w.Store.Calibration(w.ctx, "p/other"); err != nil || got != (prompt.Calibration{}) {
		t.Errorf("another model: %+v, %v", got, err)
	}
	kept := o
	kept.Decision, kept.Overflow, kept.Usage, kept.FinishReason = w.ids.Decision(), true, provider.Usage{}, prompt.OverflowTurn
	for range 2 { // the second time it lowers nothing more
		if got, err := w.observe(kept); err != nil || got.Samples != 1 || got.Ratio > 1.21 || got.Ratio < 1.19 {
			t.Errorf("a request that was kept back: %+v, %v", got, err)
		}
	}
	refused := kept
	refused.Decision, refused.Overflow, refused.Refused = w.ids.Decision(), false, 2999
	if got, err := w.observe(refused); err != nil || got.Ratio != 3 {
		t.Errorf("a request that was refused: %+v, %v", got, err)
	}
	kept.Decision = w.ids.Decision()
	if got, err := w.observe(kept); err != nil || got.Ratio != 3 {
		t.Errorf("one that was kept back after that: %+v, %v", got, err)
	}
	if got, err := w.Store.Calibration(w.ctx, "p/m"); err != nil || got.Ratio != 3 {
		t.Errorf("afterwards it is %+v, %v", got, err)
	}
	for name, bad := range map[string]func(*prompt.Observation){
		"no decision":  func(o *prompt.Observation) { o.Decision = "" },
		"unknown turn": func(o *prompt.Observation) { o.Turn = w.ids.Turn() },
		"unsent":       func(o *prompt.Observation) { o.Overflow, o.Usage.Reported = true, true },
		"refused":      func(o *prompt.Observation) { o.Refused, o.Usage.Reported = 1, true },
		"both":         func(o *prompt.Observation) { o.Refused, o.Overflow = 1, true },
		"refused less": func(o *prompt.Observation) { o.Refused = -1 },
		"below zero":   func(o *prompt.Observation) { o.Usage.Output = -1 },
	} {
		one := o
		one.Decision = w.ids.Decision()
		bad(&one)
		if _, err := w.observe(one); err == nil {
			t.Errorf("%s was kept", name)
		}
	}
}

func (w *world) observation(l live) prompt.Observation {
	return prompt.Observation{
		Decision: w.ids.Decision(), Session: l.session, Turn: l.turn, Step: 1, Provider: "p/m", Estimate: 1000,
		Usage: provider.Usage{Input: 2000, Reported: true}, FinishReason: "stop", At: w.Clock.Now(),
	}
}

func observationLost(t *testing.T, w *world) {
	l, other := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	o := w.observation(l)
	o.Session = other.session
	if _, err := w.observe(o); err == nil {
		t.Error("an observation of another session was kept")
	}
	w.begin(t, l) // it takes nothing from an effect
	if how, err := w.Store.Finish(w.ctx, w.terminal(l, turn.Completed), w.record(event.TurnFinished)); !errors.Is(err, prompt.ErrReportLost) || errors.Is(err, turn.ErrMessagesLost) {
		t.Errorf("finish %q, %v", how, err)
	}
	if how := w.finish(t, l, turn.Completed); how != turn.Written {
		t.Errorf("the second finish %q", how)
	}
	if how := w.finish(t, other, turn.Completed); how != turn.Written {
		t.Errorf("the other turn: %q", how)
	}
	if got, err := w.Store.Calibration(w.ctx, "p/m"); err != nil || got.Samples != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func observedWithTheEnd(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	if _, err := w.Store.Observe(w.ctx, w.observation(l)); err != nil {
		t.Fatal(err)
	}
	if how := w.finish(t, l, turn.Completed); how != turn.Written {
		t.Fatalf("finish %q", how)
	}
	if got, err := w.Store.Calibration(w.ctx, "p/m"); err != nil || got != (prompt.Calibration{Samples: 1, Ratio: 2}) {
		t.Errorf("%+v, %v", got, err)
	}
}
