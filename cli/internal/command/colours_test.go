package command

import "testing"

func TestWhoWantsNoColoursGetsNone(t *testing.T) {
	for _, c := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm-256color", true}, {"", "", true}, {"1", "xterm", false}, {"", "dumb", false}, {"1", "dumb", false}} {
		got := colours(func(name string) string { return map[string]string{"NO_COLOR": c.noColor, "TERM": c.term}[name] })
		if got != c.want {
			t.Errorf("NO_COLOR=%q TERM=%q: %v", c.noColor, c.term, got)
		}
	}
}
