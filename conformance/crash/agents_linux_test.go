package crash

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// TestAKilledTurnWithAChild kills the program while a child agent acts, and after the child's end before its parent's record
// of it. Both turns get their one end, the child stays its parent's, `turns show` says what became of it, and neither the next
// host nor the one after that does anything again.
func TestAKilledTurnWithAChild(t *testing.T) {
	world := newOutside(t)
	p := newArmed(t, world.URL)
	p.core(t, "actor", "steps:\n  - say: idle\n", ", \"agents.spawn:helper\"")
	p.write(t, "spawn.yaml", "version: 1\nsteps:\n  - call: [{tool: agents.spawn, args: {core: helper, task: \"act once\"}}]\n  - say: done\n")
	for n, c := range []struct {
		name   string
		point  string
		how    func(life int, l *begun)
		child  turn.Outcome
		status effect.Status // of what the child did
	}{
		{"while the child acts", "", func(life int, l *begun) { world.when(life, 1, l.kill) }, turn.Indeterminate, effect.Indeterminate},
		{"after the child's end", "effect.invoked=kill@2", nil, turn.Completed, effect.Succeeded}, // the child's call is the first
	} {
		t.Run(c.name, func(t *testing.T) {
			life := n + 1
			p.core(t, "helper", p.calling("outside.act", life), "")
			p.begin(t, []string{"PORTCULLIS_FAILPOINT=" + c.point}, func(l *begun) {
				if c.how != nil {
					c.how(life, l)
				}
			}, "run", "spawn", "--json", "--script", filepath.Join(p.dir, "spawn.yaml")).killed(t)
			name, parent := p.newest(t)
			for range 2 {
				p.must(t, "run", "nothing") // the next host
				of := p.show(t, parent)
				if of.State != turn.State(turn.Indeterminate) || len(of.Effects) != 1 || of.Effects[0].Status != effect.Indeterminate {
					t.Errorf("the parent is %+v", of)
				}
				if len(of.Agents) != 1 || of.Agents[0].Turn != name || of.Agents[0].State != turn.State(c.child) || of.Agents[0].Effect != of.Effects[0].ID {
					t.Errorf("the parent's children are %+v", of.Agents)
				}
				if said := strings.Join(of.Left, "\n"); !strings.Contains(said, "its child "+name+" ended as "+string(c.child)) {
					t.Errorf("of the child it says %q", said)
				}
				is := p.show(t, name)
				if is.State != turn.State(c.child) || len(is.Effects) != 1 || is.Effects[0].Status != c.status {
					t.Errorf("the child is %+v", is)
				}
			}
			if got := world.happened(life, 1); got != 1 {
				t.Errorf("what the child did happened %d times", got)
			}
		})
	}
	p.must(t, "store", "check")
	p.must(t, "audit", "verify")
}
