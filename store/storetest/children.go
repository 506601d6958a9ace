package storetest

import (
	"testing"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func childCases() []testCase {
	return []testCase{{"the children of a turn are listed in order, and are not their parent's", childrenListed}}
}

// childOf are the facts of a child agent that an effect of l made.
func childOf(t *testing.T, l live, e id.Effect) principal.Facts {
	t.Helper()
	who, err := principal.DelegatedID(string(l.session), string(e))
	if err != nil {
		t.Fatal(err)
	}
	return principal.Facts{PrincipalID: who, Authority: principal.DelegatedAgent, ParentSession: string(l.session), ParentTurn: string(l.turn)}
}

func childrenListed(t *testing.T, w *world) {
	parent := w.start(t, alice(), bound())
	var want []live
	for range 3 {
		facts := childOf(t, parent, w.ids.Effect())
		l := w.start(t, facts, fresh())
		want = append(want, l)
		got, err := w.Store.Children(w.ctx, w.scope(t, facts, l.session), parent.turn, 10)
		if err != nil || len(got) != 1 || got[0].ID != l.turn || got[0].Principal != facts.PrincipalID {
			t.Errorf("to itself: %+v, %v", got, err)
		}
	}
	got, err := w.Store.Children(w.ctx, w.operator(t), parent.turn, 2)
	if err != nil || len(got) != 2 || got[0].ID != want[0].turn || got[1].ID != want[1].turn || got[0].State != turn.Running {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := w.Store.Children(w.ctx, w.scope(t, alice(), parent.session), parent.turn, 10); err != nil || len(got) != 0 {
		t.Errorf("a parent reaches its child's session: %+v, %v", got, err)
	}
	if _, found, err := w.Store.Turn(w.ctx, w.scope(t, childOf(t, parent, "eff_1"), want[0].session), parent.turn); err != nil || found {
		t.Errorf("a child reaches its parent's: %v, %v", found, err)
	}
	for _, none := range []id.Turn{"", want[0].turn, "trn_nobody"} {
		if got, err := w.Store.Children(w.ctx, w.operator(t), none, 10); err != nil || len(got) != 0 {
			t.Errorf("of %q: %+v, %v", none, got, err)
		}
	}
	if _, err := w.Store.Children(w.ctx, w.operator(t), parent.turn, 0); err == nil {
		t.Error("a listing without a bound was given")
	}
}
