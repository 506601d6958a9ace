package crash

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// shownTurn is what `turns show --json` says.
type shownTurn struct {
	State   turn.State
	Effects []shownEffect
	Left    []string
	Next    []string
	Agents  []struct {
		Turn   string
		State  turn.State
		Effect string
	} `json:"children"`
}

type shownEffect struct {
	ID         string
	Tool       string
	Status     effect.Status
	Resolution struct {
		Verdict   effect.Verdict
		By        string
		Reference string
	}
}

// acts is a life of the program whose model calls tool once. how, if there is one, says what the world does to it.
func (p program) acts(t *testing.T, tool string, life int, how func(l *begun), env ...string) *begun {
	t.Helper()
	script := fmt.Sprintf("life%d.yaml", life)
	p.write(t, script, "version: 1\n"+p.calling(tool, life))
	return p.begin(t, env, how, "run", "act", "--json", "--script", filepath.Join(p.dir, script))
}

// calling is a script that calls tool once.
func (p program) calling(tool string, life int) string {
	return fmt.Sprintf("steps:\n  - call: [{tool: %s, args: {url: \"%s/?life=%d&call=1\"}}]\n  - say: done\n", tool, p.url, life)
}

// killed waits for the end of a life, which must be a kill.
func (l *begun) killed(t *testing.T) {
	t.Helper()
	if killed, err := l.wait(); !killed {
		t.Fatalf("it was not killed: %v\n%s%s", err, &l.stdout, &l.stderr)
	}
}

// newest is the turn that began last, and whose child it is.
func (p program) newest(t *testing.T) (name, parent string) {
	t.Helper()
	var began struct {
		Events []struct {
			Turn   string
			Fields map[string]string
		}
	}
	if p.answer(t, &began, "audit", "--kind", "turn.started", "--limit", "1"); len(began.Events) != 1 {
		t.Fatalf("audit: %+v", began)
	}
	return began.Events[0].Turn, began.Events[0].Fields["parent_turn"]
}

// show is a turn that must have one end in the audit.
func (p program) show(t *testing.T, name string) (is shownTurn) {
	t.Helper()
	p.answer(t, &is, "turns", "show", name)
	n := 0
	for _, kind := range []string{"turn.finished", "turn.recovered"} {
		var ends struct{ Events []struct{} }
		p.answer(t, &ends, "audit", "--turn", name, "--kind", kind)
		n += len(ends.Events)
	}
	if n != 1 {
		t.Errorf("turn %s is %s and has %d ends in the audit", name, is.State, n)
	}
	return is
}

// TestAKilledCallIsSettledByWhatTheOtherSideSaw kills the program between the dispatch of a call and its confirmation, where
// the other side wrote it down and where it did not. While the other side is shut nothing is settled; then the plugin says
// what the other side saw, that word stands, and nothing is called a second time.
func TestAKilledCallIsSettledByWhatTheOtherSideSaw(t *testing.T) {
	world := newOutside(t)
	p := newArmed(t, world.URL)
	for n, c := range []struct {
		name    string
		point   string
		how     func(life int, l *begun)
		happens int
		verdict effect.Verdict
	}{
		{"before it left", "effect.invoke=kill", nil, 0, effect.NotHappened},
		{"as it came and was not written down", "", func(life int, l *begun) { world.insteadOf(life, 1, l.kill) }, 0, effect.NotHappened},
		{"as it was written down", "", func(life int, l *begun) { world.when(life, 1, l.kill) }, 1, effect.Happened},
		{"after its answer", "effect.invoked=kill", nil, 1, effect.Happened},
	} {
		t.Run(c.name, func(t *testing.T) {
			life := n + 1
			world.close(true)
			p.acts(t, "outside.book", life, func(l *begun) {
				if c.how != nil {
					c.how(life, l)
				}
			}, "PORTCULLIS_FAILPOINT="+c.point).killed(t)
			name, _ := p.newest(t)
			p.must(t, "run", "nothing") // the next host
			left := p.show(t, name)
			if left.State != turn.State(turn.Indeterminate) || len(left.Effects) != 1 || left.Effects[0].Status != effect.Indeterminate || left.Effects[0].Resolution.Verdict != "" {
				t.Fatalf("the next host left %+v", left)
			}
			ask := []string{"effects", "resolve", left.Effects[0].ID, "--reconcile"}
			if len(left.Next) == 0 || !strings.HasSuffix(left.Next[0], " "+strings.Join(ask, " ")) {
				t.Errorf("what to type is %q, and not first %q", left.Next, ask)
			}
			var no struct{ Error struct{ Code string } }
			if p.answer(t, &no, ask...) || no.Error.Code != "still_uncertain" {
				t.Errorf("settled while the other side was shut: %+v", no)
			}
			world.close(false)
			for range 2 { // the second time nobody is asked
				var is shownEffect
				if !p.answer(t, &is, ask...) || is.Resolution.Verdict != c.verdict || is.Resolution.By != "plugin:outside@1.0.0" {
					t.Errorf("settled as %+v", is)
				}
				world.close(true)
			}
			p.must(t, "run", "nothing")
			after := p.show(t, name)
			if after.State != turn.State(turn.Indeterminate) || len(after.Effects) != 1 || after.Effects[0].Resolution.Verdict != c.verdict {
				t.Errorf("afterwards it is %+v", after)
			}
			if got := world.happened(life, 1); got != c.happens {
				t.Errorf("it happened %d times, not %d", got, c.happens)
			}
		})
	}
	p.must(t, "store", "check")
	p.must(t, "audit", "verify")
}
