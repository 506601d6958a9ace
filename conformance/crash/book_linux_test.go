package crash

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// book is what happened outside and what the children were told is durable.
type book struct {
	did      map[id.Effect]int
	kept     []kept // values, in the order they were acknowledged
	admitted map[id.Turn]id.Session
	effects  map[id.Effect]effect.Status // as they were reported
	ended    map[id.Turn]turn.Outcome
	resolved map[id.Effect]effect.Verdict
	sent     map[id.Delivery]int
	settled  map[id.Delivery]outbox.State // as it was acknowledged last
	worked   map[id.Task]int
	over     map[id.Task]task.State // as it was acknowledged
	heard    map[id.Task]bool
	old      int64 // the schema that the database had when its child was killed, if not today's
	torn     bool  // the log was damaged afterwards: nothing that was acknowledged need be there
	records  int   // then, how many audit records were committed before the damage
}

// kept is a value that the child was told is stored; the zero one is that it was told the value is gone.
type kept struct {
	value   id.Effect
	version int64
}

// read takes the whole lines of a child's output. A line that the kill cut was no promise.
func read(out string) *book {
	b := &book{
		did: map[id.Effect]int{}, admitted: map[id.Turn]id.Session{},
		effects: map[id.Effect]effect.Status{}, ended: map[id.Turn]turn.Outcome{}, resolved: map[id.Effect]effect.Verdict{},
		sent: map[id.Delivery]int{}, settled: map[id.Delivery]outbox.State{},
		worked: map[id.Task]int{}, over: map[id.Task]task.State{}, heard: map[id.Task]bool{},
	}
	for line := range strings.Lines(out) {
		w := strings.Fields(line)
		if !strings.HasSuffix(line, "\n") || len(w) < 2 {
			continue
		}
		switch w[0] {
		case "did":
			b.did[id.Effect(w[1])]++
		case "kept":
			n, _ := strconv.ParseInt(w[2], 10, 64)
			b.kept = append(b.kept, kept{id.Effect(w[1]), n})
		case "dropped":
			b.kept = append(b.kept, kept{})
		case "admitted":
			b.admitted[id.Turn(w[1])] = id.Session(w[2])
		case "effect":
			b.effects[id.Effect(w[1])] = effect.Status(w[2])
		case "resolved":
			as := effect.NotHappened // which was all there was when some saved books were written
			if len(w) > 2 {
				as = effect.Verdict(w[2])
			}
			b.resolved[id.Effect(w[1])] = as
		case "ended":
			b.ended[id.Turn(w[1])] = turn.Outcome(w[2])
		case "sent":
			b.sent[id.Delivery(w[1])]++
		case "settled":
			b.settled[id.Delivery(w[1])] = outbox.State(w[2])
		case "worked":
			b.worked[id.Task(w[1])]++
		case "over":
			b.over[id.Task(w[1])] = task.State(w[2])
		case "heard":
			b.heard[id.Task(w[1])] = true
		}
	}
	return b
}

func operator(w *world) (principal.Scope, error) {
	return principal.NewIssuer(string(w.store.StoreID())).Issue(principal.Facts{
		PrincipalID: authority.OperatorID, Authority: principal.Operator, Reason: "crash test",
	})
}

// state is all that the database says of turns and effects.
type state struct {
	turns   map[id.Turn]turn.Record
	effects map[id.Effect]effect.Record
	owed    map[id.Delivery]outbox.Delivery
	tasks   map[id.Task]task.Task
}

func (w *world) look(ctx context.Context) (state, error) {
	st := state{map[id.Turn]turn.Record{}, map[id.Effect]effect.Record{}, map[id.Delivery]outbox.Delivery{}, map[id.Task]task.Task{}}
	sessions, err := w.store.Sessions(ctx, w.by, 0, 500)
	for _, s := range sessions {
		turns, more := w.store.Turns(ctx, w.by, s.ID, 0, 500)
		if err = more; err != nil {
			return st, err
		}
		for _, t := range turns {
			st.turns[t.ID] = t
			effects, more := w.store.Effects(ctx, w.by, t.ID)
			if err = more; err != nil {
				return st, err
			}
			for _, e := range effects {
				st.effects[e.ID] = e
			}
		}
	}
	if err != nil {
		return st, err
	}
	owed, err := w.store.Deliveries(ctx, w.by, "", 0, 500)
	for _, d := range owed {
		st.owed[d.ID] = d
	}
	if err != nil {
		return st, err
	}
	tasks, err := w.store.Tasks(ctx, w.by, "", "", 0, 500)
	for _, k := range tasks {
		st.tasks[k.ID] = k
	}
	return st, err
}

// hold checks the database at path against the book and brings it on. What it finds wrong is returned, in words.
func hold(t *testing.T, path string, b *book) (faults []string) {
	t.Helper()
	report, err := sqlite.Check(t.Context(), path)
	if err != nil || len(report.Faults) > 0 {
		return []string{fmt.Sprintf("the database is not sound: %+v, %v", report, err)}
	}
	return holdSound(t, path, b, report)
}

// holdSound is hold for a database that was looked at.
func holdSound(t *testing.T, path string, b *book, report sqlite.Report) (faults []string) {
	t.Helper()
	ctx := t.Context()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if audit, err := sqlite.VerifyAudit(ctx, path); report.Schema == report.Known && (err != nil || len(audit.Faults) > 0) {
		fault("the audit's chain does not hold: %+v, %v", audit, err)
	}
	w, err := openWorld(ctx, path)
	if err != nil {
		fault("the next host cannot open: %v", err)
		return faults
	}
	defer func() {
		if err := w.close(); err != nil {
			fault("close: %v", err)
		}
	}()
	if w.by, err = operator(w); err != nil {
		t.Fatal(err)
	}
	before, err := w.look(ctx)
	if err != nil {
		fault("look: %v", err)
		return faults
	}
	if b.torn {
		if n, err := w.records(ctx); err != nil || n != b.records {
			fault("%d audit records, %d were committed before the damage, %v", n, b.records, err)
		}
	} else {
		b.lost(before, fault)
		w.lostValues(ctx, b, fault)
	}
	if _, err := w.store.Recover(ctx, w.epoch, time.Now()); err != nil {
		fault("recover: %v", err)
		return faults
	}
	if _, err := w.store.RecoverDeliveries(ctx, w.epoch, time.Now()); err != nil {
		fault("recover deliveries: %v", err)
		return faults
	}
	if _, err := w.store.RecoverTasks(ctx, w.epoch, time.Now()); err != nil {
		fault("recover tasks: %v", err)
		return faults
	}
	after, err := w.look(ctx)
	if err != nil {
		fault("look again: %v", err)
		return faults
	}
	w.settled(ctx, before, after, b, fault)
	w.delivered(before, after, b, fault)
	w.worked(before, after, b, fault)
	w.goesOn(ctx, t, fault)
	return faults
}

// lost holds what was acknowledged against what the next host finds, before anything is recovered.
func (b *book) lost(st state, fault func(string, ...any)) {
	for key := range b.admitted {
		if _, ok := st.turns[key]; !ok {
			fault("lost: turn %s was admitted", key)
		}
	}
	for key, outcome := range b.ended {
		if got := st.turns[key]; got.Outcome != outcome {
			fault("lost: turn %s ended as %s and is %s", key, outcome, got.State)
		}
	}
	for key, status := range b.effects {
		got, ok := st.effects[key]
		// What the host could not write down it reports as denied (it did not run) or indeterminate; the database may then
		// know nothing, or more. Any other report is of an end that is on record.
		if ok && got.Status != status && status != effect.Indeterminate && status != effect.Denied {
			fault("lost: effect %s ended as %s and is %q", key, status, got.Status)
		}
		if !ok && status != effect.Denied {
			fault("lost: effect %s was reported as %s", key, status)
		}
	}
	for key, as := range b.resolved {
		if got := st.effects[key]; got.Status != effect.Indeterminate || got.Resolution.Verdict != as {
			fault("lost: effect %s was settled and is %q, %+v", key, got.Status, got.Resolution)
		}
	}
	for key, times := range b.did {
		if times > 1 {
			fault("twice: effect %s happened %d times", key, times)
		}
		if e, ok := st.effects[key]; !ok || !e.Started {
			fault("effect %s happened and its start is not recorded", key)
		}
	}
}

// lostValues holds the value that the effects keep to what was acknowledged of it last. The child may have gone on: then it
// has a higher version, or is gone once the turn had ended.
func (w *world) lostValues(ctx context.Context, b *book, fault func(string, ...any)) {
	if len(b.kept) == 0 {
		return
	}
	last := b.kept[len(b.kept)-1]
	value, version, err := w.store.Get(ctx, values(""), "n")
	switch {
	case err != nil:
		fault("get the value: %v", err)
	case last == kept{}:
		if version != 0 {
			fault("lost: the value was dropped and is %q, %d", value, version)
		}
	case version == 0 && len(b.ended) > 0, version > last.version, version == last.version && string(value) == string(last.value):
	default:
		fault("lost: the value was kept as %q, %d, and is %q, %d", last.value, last.version, value, version)
	}
}

// settled holds what recovery made of it.
func (w *world) settled(ctx context.Context, before, after state, b *book, fault func(string, ...any)) {
	for key, was := range before.effects {
		now, want := after.effects[key], was.Status
		if was.Started && was.Status == "" {
			want = effect.Indeterminate
		}
		if now.Status != want {
			fault("effect %s was %q and is %q, not %q", key, was.Status, now.Status, want)
		}
		if now.Resolution != was.Resolution {
			fault("effect %s must be settled by a person, and recovery made it %+v", key, now.Resolution)
		}
		if now.Status == effect.Succeeded && b.did[key] != 1 {
			fault("effect %s succeeded and happened %d times", key, b.did[key])
		}
	}
	for key, is := range after.turns {
		if is.State == turn.Running {
			fault("turn %s has no terminal state", key)
		}
		ends, err := w.store.Events(ctx, w.by, turn.EventQuery{Turn: key, Limit: 1000})
		n := 0
		for _, r := range ends {
			if r.Kind == event.TurnFinished || r.Kind == event.TurnRecovered {
				n++
			}
		}
		if err != nil || n != 1 {
			fault("turn %s has %d ends in the audit, %v", key, n, err)
		}
		open := slices.ContainsFunc(slices.Collect(maps.Values(before.effects)), func(e effect.Record) bool {
			return e.Turn == key && e.Started && e.Status == ""
		})
		if was := before.turns[key]; was.State == turn.Running && (is.Outcome == turn.Indeterminate) != open {
			fault("turn %s is %s, with an effect open: %v", key, is.Outcome, open)
		}
	}
	pending, err := w.store.Questions(ctx, w.by, approval.Pending, 0, 10)
	if err != nil || len(pending) != 0 {
		fault("%d questions are open, %v", len(pending), err)
	}
}

// goesOn asks the same request again, which must answer with the turn there was, and then for one more turn.
func (w *world) goesOn(ctx context.Context, t *testing.T, fault func(string, ...any)) {
	t.Helper()
	before, err := w.look(ctx)
	if err != nil {
		fault("look: %v", err)
		return
	}
	var known turn.Record
	for _, r := range before.turns {
		if r.Request == requestKey {
			known = r
		}
	}
	input := "act twice"
	if known.ID == "" { // nothing was admitted: then it may run now, but this process is not the world
		input = "quietly"
	}
	res, err := w.ask(ctx, requestKey, input)
	switch {
	case err != nil:
		fault("asked again: %v", err)
	case known.ID != "" && (res.Turn() != known.ID || res.Outcome() != known.Outcome || !res.Duplicate()):
		fault("asked again: turn %s is %s, there was %s, %s", res.Turn(), res.Outcome(), known.ID, known.Outcome)
	}
	if after, err := w.look(ctx); err != nil || known.ID != "" && len(after.effects) != len(before.effects) {
		fault("asked again: %d effects were %d, %v", len(after.effects), len(before.effects), err)
	}
	if res, err := w.ask(ctx, w.ids.Request(), "quietly"); err != nil || res.Outcome() != turn.Completed {
		fault("the session's next turn: %s %s, %v", res.Outcome(), res.Sentence(), err)
	}
}
