package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func fenceCases() []testCase {
	return []testCase{
		{"a write under another claim is stale", staleClaims},
		{"a write after the claim's expiry is stale", staleByTime},
		{"extend keeps a claim alive", extendKeeps},
		{"an expired turn is ended by the next admission", nextAdmissionEnds},
		{"the old holder cannot write after the session was taken over", oldHolderIsStale},
		{"append to an unknown turn is an error", appendUnknown},
	}
}

func staleClaims(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	for name, change := range map[string]func(*lease.Claim){
		"token": func(c *lease.Claim) { c.Token = w.ids.Lease() },
		"epoch": func(c *lease.Claim) { c.Epoch = w.ids.Epoch() },
		"fence": func(c *lease.Claim) { c.Fence++ },
		"zero":  func(c *lease.Claim) { *c = lease.Claim{} },
	} {
		other := l
		change(&other.claim)
		if how, err := w.Store.Append(w.ctx, l.turn, other.claim, []turn.Message{w.message(l, "user", `{}`)}); how != turn.Stale || err != nil {
			t.Errorf("%s: append %q, %v", name, how, err)
		}
		if how := w.finish(t, other, turn.Completed); how != turn.Stale {
			t.Errorf("%s: finish %q", name, how)
		}
		if how, err := w.Store.Extend(w.ctx, l.session, other.claim, w.Clock.Now().Add(time.Hour)); how != turn.Stale || err != nil {
			t.Errorf("%s: extend %q, %v", name, how, err)
		}
	}
	if rec := w.turnOf(t, l.turn); rec.State != turn.Running {
		t.Errorf("a stale finish ended the turn: %s", rec.State)
	}
	if got, err := w.Store.Window(w.ctx, w.operator(t), l.session, 10, 1000); len(got) != 0 || err != nil {
		t.Errorf("a stale append left %d messages, %v", len(got), err)
	}
}

func staleByTime(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	w.Clock.Advance(time.Minute)
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, "user", `{}`)}); how != turn.Stale || err != nil {
		t.Errorf("append %q, %v", how, err)
	}
	if how, err := w.Store.Extend(w.ctx, l.session, l.claim, w.Clock.Now().Add(time.Hour)); how != turn.Stale || err != nil {
		t.Errorf("extend %q, %v", how, err)
	}
	if how, err := w.Store.EffectStarted(w.ctx, w.started(l), w.record(event.EffectStarted)); err == nil {
		t.Errorf("an effect started: %q", how)
	}
	if _, how, err := w.Store.QueueTask(w.ctx, w.newTask(l), w.record(event.TaskQueued)); how != task.NoOwner || err != nil {
		t.Errorf("queue a task %q, %v", how, err)
	}
	if how := w.finish(t, l, turn.Completed); how != turn.Stale {
		t.Errorf("finish %q", how)
	}
	if rec := w.turnOf(t, l.turn); rec.State != turn.Running {
		t.Errorf("state %s", rec.State)
	}
}

func extendKeeps(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	if how, err := w.Store.Extend(w.ctx, l.session, l.claim, w.Clock.Now().Add(time.Hour)); how != turn.Written || err != nil {
		t.Fatalf("extend %q, %v", how, err)
	}
	if _, err := w.Store.Extend(w.ctx, l.session, l.claim, w.Clock.Now()); err == nil {
		t.Error("a claim was extended into the past")
	}
	w.Clock.Advance(2 * time.Minute)
	if how := w.finish(t, l, turn.Completed); how != turn.Written {
		t.Errorf("finish %q", how)
	}
	if how, err := w.Store.Extend(w.ctx, l.session, l.claim, w.Clock.Now().Add(time.Hour)); how != turn.Stale || err != nil {
		t.Errorf("extend after the end %q, %v", how, err)
	}
	if how, err := w.Store.Extend(w.ctx, w.ids.Session(), l.claim, w.Clock.Now().Add(time.Hour)); how != turn.Stale || err != nil {
		t.Errorf("extend of an unknown session %q, %v", how, err)
	}
}

func nextAdmissionEnds(t *testing.T, w *world) {
	quiet, busy := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	open := w.begin(t, busy)
	w.Clock.Advance(time.Minute)
	for l, want := range map[live]turn.Outcome{quiet: turn.Lost, busy: turn.Indeterminate} {
		next := w.start(t, operatorFacts(), resume(l.session))
		if next.claim.Fence != l.claim.Fence+1 {
			t.Errorf("fence %d after %d", next.claim.Fence, l.claim.Fence)
		}
		rec := w.turnOf(t, l.turn)
		if rec.Outcome != want || rec.Reason != "lease_expired" || rec.Finished.IsZero() {
			t.Errorf("the expired turn is %+v, want %s", rec, want)
		}
		recs := w.events(t, turn.EventQuery{Turn: l.turn, Kind: event.TurnRecovered})
		if len(recs) != 1 || recs[0].Field("outcome") != string(want) {
			t.Errorf("records %+v", recs)
		}
	}
	effects, err := w.Store.Effects(w.ctx, w.operator(t), busy.turn)
	if err != nil || len(effects) != 1 || effects[0].ID != open.Effect || effects[0].Status != effect.Indeterminate {
		t.Errorf("effects %+v, %v", effects, err)
	}
}

func oldHolderIsStale(t *testing.T, w *world) {
	old := w.start(t, alice(), bound())
	w.Clock.Advance(time.Minute)
	w.start(t, alice(), bound())
	if how, err := w.Store.Append(w.ctx, old.turn, old.claim, []turn.Message{w.message(old, "user", `{}`)}); how != turn.AlreadyEnded || err != nil {
		t.Errorf("append %q, %v", how, err)
	}
	if how := w.finish(t, old, turn.Completed); how != turn.AlreadyEnded {
		t.Errorf("finish %q", how)
	}
	if rec := w.turnOf(t, old.turn); rec.Outcome != turn.Lost {
		t.Errorf("outcome %s", rec.Outcome)
	}
}

func appendUnknown(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	ghost := live{w.ids.Turn(), l.session, l.claim}
	if how, err := w.Store.Append(w.ctx, ghost.turn, l.claim, []turn.Message{w.message(ghost, "user", `{}`)}); err == nil {
		t.Errorf("append to an unknown turn: %q", how)
	}
	if how, err := w.Store.Finish(w.ctx, w.terminal(ghost, turn.Completed), w.record(event.TurnFinished)); err == nil {
		t.Errorf("finish of an unknown turn: %q", how)
	}
	elsewhere := w.terminal(l, turn.Completed)
	elsewhere.Session = w.start(t, bob(), bound()).session
	if how, err := w.Store.Finish(w.ctx, elsewhere, w.record(event.TurnFinished)); err == nil {
		t.Errorf("finish in another session: %q", how)
	}
}

func terminalCases() []testCase {
	return []testCase{
		{"each outcome ends a turn once", endsOnce},
		{"one of many finishers wins", oneFinisher},
		{"nothing is written under a turn that has ended", nothingAfterEnd},
		{"ending closes what is open", endCloses},
		{"malformed endings write nothing", endingMalformed},
	}
}

func endsOnce(t *testing.T, w *world) {
	for _, o := range []turn.Outcome{turn.Completed, turn.NeedsUser, turn.Failed, turn.Cancelled, turn.Lost, turn.Indeterminate} {
		l := w.start(t, alice(), bound())
		w.Clock.Advance(1500 * time.Millisecond)
		end := w.terminal(l, o)
		if how := w.finish(t, l, o); how != turn.Written {
			t.Fatalf("%s: %q", o, how)
		}
		rec := w.turnOf(t, l.turn)
		if rec.Outcome != o || rec.State != turn.State(o) || rec.Reason != end.Reason || rec.Reply != end.Reply ||
			rec.Steps != end.Steps || rec.Usage != end.Usage || rec.Finished.Sub(rec.Started) != 1500*time.Millisecond {
			t.Errorf("%s: %+v", o, rec)
		}
		for _, other := range []turn.Outcome{turn.Failed, o} {
			if how := w.finish(t, l, other); how != turn.AlreadyEnded {
				t.Errorf("%s, then %s: %q", o, other, how)
			}
		}
		if again := w.turnOf(t, l.turn); again != rec {
			t.Errorf("%s: the terminal state changed: %+v", o, again)
		}
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.TurnFinished}); len(recs) != 6 {
		t.Errorf("%d turn.finished records for 6 ends", len(recs))
	}
}

func oneFinisher(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	var wg sync.WaitGroup
	answers := make(chan turn.Fenced, 8)
	for range cap(answers) {
		wg.Go(func() {
			how, err := w.Store.Finish(w.ctx, w.terminal(l, turn.Completed), w.record(event.TurnFinished))
			if err != nil {
				t.Error(err)
			}
			answers <- how
		})
	}
	wg.Wait()
	close(answers)
	count := map[turn.Fenced]int{}
	for how := range answers {
		count[how]++
	}
	if count[turn.Written] != 1 || count[turn.AlreadyEnded] != 7 {
		t.Errorf("answers %v", count)
	}
}

func nothingAfterEnd(t *testing.T, w *world) {
	l := w.ended(t, alice(), bound())
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, "assistant", `{}`)}); how != turn.AlreadyEnded || err != nil {
		t.Errorf("append %q, %v", how, err)
	}
	s := w.started(l)
	if _, err := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted)); err == nil {
		t.Error("an effect started under an ended turn")
	}
	f := w.finished(s, effect.Denied)
	f.Started = false
	if err := w.Store.EffectFinished(w.ctx, f, w.record(event.EffectFinished)); err == nil {
		t.Error("an effect was recorded under an ended turn")
	}
	if err := w.Store.Ask(w.ctx, w.question(l), w.record(event.ApprovalAsked)); err == nil {
		t.Error("a question was asked under an ended turn")
	}
	for _, k := range []event.Kind{event.EffectStarted, event.EffectFinished, event.ApprovalAsked} {
		if recs := w.events(t, turn.EventQuery{Kind: k}); len(recs) != 0 {
			t.Errorf("a refused write left a record %s", k)
		}
	}
}

func endCloses(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	s, q := w.begin(t, l), w.ask(t, l)
	w.finish(t, l, turn.Cancelled)
	effects, err := w.Store.Effects(w.ctx, w.operator(t), l.turn)
	if err != nil || len(effects) != 1 || effects[0].Status != effect.Indeterminate || effects[0].Reason != "turn_ended" || effects[0].FinishedAt.IsZero() {
		t.Errorf("effects %+v, %v", effects, err)
	}
	got, found, err := w.Store.Question(w.ctx, w.operator(t), q.ID)
	if err != nil || !found || got.State != "expired" || got.Reason != "turn_ended" || got.Decided.IsZero() {
		t.Errorf("question %+v, %v, %v", got, found, err)
	}
	if recs := w.events(t, turn.EventQuery{Turn: l.turn, Kind: event.EffectFinished}); len(recs) != 1 || recs[0].Effect != s.Effect {
		t.Errorf("records %+v", recs)
	}
	if recs := w.events(t, turn.EventQuery{Turn: l.turn, Kind: event.ApprovalDecided}); len(recs) != 1 || recs[0].Field("approval") != string(q.ID) {
		t.Errorf("records %+v", recs)
	}
	if err := w.Store.EffectFinished(w.ctx, w.finished(s, effect.Succeeded), w.record(event.EffectFinished)); err == nil {
		t.Error("an effect finished after its turn had ended")
	}
}

func endingMalformed(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	for name, change := range map[string]func(*turn.Terminal, *event.Record){
		"no outcome":         func(e *turn.Terminal, _ *event.Record) { e.Outcome = "" },
		"unknown outcome":    func(e *turn.Terminal, _ *event.Record) { e.Outcome = "running" },
		"failed with reply":  func(e *turn.Terminal, _ *event.Record) { e.Outcome = turn.Failed },
		"completed, reason":  func(e *turn.Terminal, _ *event.Record) { e.Reason = "x" },
		"negative steps":     func(e *turn.Terminal, _ *event.Record) { e.Steps = -1 },
		"record of nothing":  func(_ *turn.Terminal, r *event.Record) { *r = event.Record{} },
		"record without id":  func(_ *turn.Terminal, r *event.Record) { r.ID = "" },
		"record, id is used": func(_ *turn.Terminal, r *event.Record) { r.ID = w.events(t, turn.EventQuery{Limit: 1})[0].ID },
	} {
		end, r := w.terminal(l, turn.Completed), w.record(event.TurnFinished)
		change(&end, &r)
		if how, err := w.Store.Finish(w.ctx, end, r); err == nil {
			t.Errorf("%s: %q", name, how)
		}
	}
	if rec := w.turnOf(t, l.turn); rec.State != turn.Running {
		t.Errorf("a malformed ending ended the turn: %s", rec.State)
	}
	for name, m := range map[string]turn.Message{
		"of another turn": {ID: w.ids.Message(), Turn: w.ids.Turn(), Role: "user", Body: []byte(`{}`), At: w.Clock.Now()},
		"unknown role":    w.message(l, "system", `{}`),
		"not JSON":        w.message(l, "user", `{"a":`),
		"no body":         w.message(l, "user", ``),
	} {
		if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, "user", `{}`), m}); err == nil {
			t.Errorf("message %s: %q", name, how)
		}
	}
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, nil); err == nil {
		t.Errorf("no messages: %q", how)
	}
	twice := w.message(l, "user", `{}`)
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{twice, twice}); err == nil {
		t.Errorf("one message twice: %q", how)
	}
	if got, err := w.Store.Window(w.ctx, w.operator(t), l.session, 10, 1000); len(got) != 0 || err != nil {
		t.Errorf("refused messages left %d, %v", len(got), err)
	}
}
