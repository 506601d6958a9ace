package host_test

import (
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// A plugin that is removed is not called again, by a turn that runs and has its code in memory either.
func TestARemovedPluginIsNotCalledAgain(t *testing.T) {
	h := newHome(t, "calc")
	h.core(`
steps:
  - call: [{tool: calc.eval, args: {expression: "1+1"}}]
  - call: [{tool: calc.eval, args: {expression: "1+1"}}]
  - say: done
`, []string{"tool.call:*"})
	on := h.open()
	var ends []string
	_, err := on.Run(t.Context(), host.Request{Input: "twice"}, turn.Observer{Effect: func(r effect.Result) {
		if ends = append(ends, string(r.Status)+" "+r.Reason); len(ends) == 1 {
			if err := on.Plugins().Remove(t.Context(), h.pins[0].ID, h.pins[0].Version); err != nil {
				t.Error(err)
			}
		}
	}})
	if want := []string{"succeeded ", "failed plugin_missing"}; err != nil || !slices.Equal(ends, want) {
		t.Fatalf("%q, %v, want %q", ends, err, want)
	}
}
