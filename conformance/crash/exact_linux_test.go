package crash

import (
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// TestIndeterminateExactlyBetweenDispatchAndConfirmation kills the host at each step of its first effect: the effect and its
// turn are indeterminate when the start was on record and the end was not, whether it happened or not, and never else.
func TestIndeterminateExactlyBetweenDispatchAndConfirmation(t *testing.T) {
	exe, err := withPoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		point    string
		happened int
		status   effect.Status // empty: nothing is on record
		outcome  turn.Outcome
	}{
		{"sqlite.Admit.committed", 0, "", turn.Lost},
		{"sqlite.EffectStarted.begin", 0, "", turn.Lost},
		{"sqlite.EffectStarted.ran", 0, "", turn.Lost},
		{"sqlite.EffectStarted.committed", 0, effect.Indeterminate, turn.Indeterminate},
		{"effect.invoke", 0, effect.Indeterminate, turn.Indeterminate},
		{"effect.invoked", 1, effect.Indeterminate, turn.Indeterminate},
		{"sqlite.EffectFinished.begin", 1, effect.Indeterminate, turn.Indeterminate},
		{"sqlite.EffectFinished.ran", 1, effect.Indeterminate, turn.Indeterminate},
		{"sqlite.EffectFinished.committed", 1, effect.Succeeded, turn.Lost},
		{"sqlite.Finish.begin", 1, effect.Succeeded, turn.Lost},
		{"sqlite.Finish.ran", 1, effect.Succeeded, turn.Lost},
		{"sqlite.Finish.committed", 1, effect.Succeeded, turn.Completed},
	} {
		path := fresh(t, t.TempDir())
		e := run(t, path, exe, []string{"PORTCULLIS_FAILPOINT=" + c.point + "=kill"})
		if !e.killed {
			t.Fatalf("%s: the child was not killed: %+v", c.point, e)
		}
		w, err := openWorld(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Recover(t.Context(), w.epoch, time.Now()); err != nil {
			t.Fatal(err)
		}
		if w.by, err = operator(w); err != nil {
			t.Fatal(err)
		}
		st, err := w.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(st.turns) != 1 {
			t.Errorf("%s: %d turns", c.point, len(st.turns))
		}
		b := read(e.out)
		for key, is := range st.turns {
			first := effectOf(st, key, `"n":1`)
			if is.Outcome != c.outcome || first.Status != c.status || b.did[first.ID] != c.happened && c.status != "" || len(b.did) < c.happened {
				t.Errorf("%s: the turn is %s, its effect %q and happened %d times; want %s, %q, %d",
					c.point, is.Outcome, first.Status, b.did[first.ID], c.outcome, c.status, c.happened)
			}
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
}
