package host_test

import (
	"testing"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func TestATurnGoesThroughTheSandboxAndBack(t *testing.T) {
	h := newHome(t, "calc")
	h.core(`
steps:
  - expect: {tools: {include: [calc.eval]}, last_user: {contains: "tenths"}}
    call: [{tool: calc.eval, args: {expression: "0.1+0.2"}}]
  - expect: {tool_result: {name: calc.eval, contains: "0.3", status: succeeded}}
    say: It is 0.3.
`, []string{"tool.call:*"})
	on := h.open()
	var stages []string
	res, err := on.Run(t.Context(), host.Request{Input: "add the tenths"}, turn.Observer{
		Stage: func(s effect.Stage) { stages = append(stages, s.Name+" "+s.Verdict) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Outcome() != turn.Completed || res.Reply() != "It is 0.3." {
		t.Fatalf("outcome %s (%s %s), reply %q", res.Outcome(), res.Reason(), res.Sentence(), res.Reply())
	}
	t.Log(stages, res.Effects())
}
