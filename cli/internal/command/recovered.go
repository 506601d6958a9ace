package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// interrupted reports whether a turn ended because whoever ran it was gone.
func interrupted(t turn.Record) bool {
	return t.Reason == "host_restarted" || t.Reason == "lease_expired"
}

// whatWasLeft says what a turn that nobody finished left behind: what was running, and what of it is uncertain.
func whatWasLeft(t turn.Record, effects []effect.Record, children []childAnswer) []string {
	if !interrupted(t) {
		return nil
	}
	var out []string
	for _, e := range effects {
		if e.Status == effect.Indeterminate {
			out = append(out, fmt.Sprintf("%s was running: %s", e.Tool, cmp.Or(childWords(e, children), whatIsKnown(e))))
		}
	}
	if len(out) == 0 {
		out = append(out, "no effect was running, so nothing outside was left half-done")
	}
	done := 0
	for _, e := range effects {
		if e.Status == effect.Succeeded {
			done++
		}
	}
	switch {
	case done == 1:
		out = append(out, "one call had succeeded before: what it did stays done")
	case done > 1:
		out = append(out, fmt.Sprintf("%d calls had succeeded before: what they did stays done", done))
	}
	return append(out, "nothing was run again, and nothing will be")
}

// childWords is what is known of a call that spawned a child, which has a record of its own; empty for any other call, and for one
// whose child never began.
func childWords(e effect.Record, children []childAnswer) string {
	for _, c := range children {
		switch {
		case c.Effect != e.ID || e.Resolution.Verdict != "":
		case c.State == turn.Running:
			return fmt.Sprintf("its child %s is still running; `portcullis turns show %s` says what it did", c.Turn, c.Turn)
		default:
			return fmt.Sprintf("its child %s ended as %s, and nobody told the parent; `portcullis turns show %s` says what it did", c.Turn, c.State, c.Turn)
		}
	}
	return ""
}

// whatIsKnown is what can be said of an indeterminate effect.
func whatIsKnown(e effect.Record) string {
	switch e.Resolution.Verdict {
	case effect.NothingToDo:
		return "it only reads, so there is nothing to do"
	case effect.MayBeRepeated:
		return "nobody knows whether it happened, but its tool may repeat it without harm: ask for it again if you still want it"
	case "":
		return "nobody knows whether it happened; look at what it would have changed, then settle it"
	}
	return settledWords(e.Resolution)
}

// nextOf is what to type about an effect; nothing when nothing waits.
func nextOf(e effect.Record) []string {
	if e.Status != effect.Indeterminate || e.Resolution.Verdict != "" {
		return nil
	}
	var ask []string
	if e.Recovery == wire.RecoveryReconcile {
		ask = append(ask, fmt.Sprintf("portcullis effects resolve %s --reconcile", e.ID))
	}
	return append(ask,
		fmt.Sprintf("portcullis effects resolve %s --as happened --reason TEXT", e.ID),
		fmt.Sprintf("portcullis effects resolve %s --as not-happened --reason TEXT", e.ID),
	)
}

// nextAfter is what to type after a turn that ended as t did, for the operator by: to settle what is uncertain, else to look at the
// turn that it worked for, or to go on with a conversation of his own that got no answer.
func nextAfter(t turn.Record, effects []effect.Record, session turn.Session, by string) []string {
	var out []string
	for _, e := range effects {
		out = append(out, nextOf(e)...)
	}
	own := session.Owner.Authority == principal.Operator && session.Owner.PrincipalID == by && session.Ended.IsZero()
	switch {
	case len(out) > 0 || t.State == turn.Running || t.State == turn.State(turn.Completed):
	case session.Owner.ParentTurn != "":
		out = append(out, fmt.Sprintf("portcullis turns show %s", session.Owner.ParentTurn))
	case own && (t.Steps > 0 || interrupted(t)): // a call without a model has no conversation, but its host may have died before
		out = append(out, fmt.Sprintf("portcullis run --session %s TEXT", t.Session))
	}
	return out
}

// sayLeft says what is left of a turn and what to type.
func sayLeft(t *console.Text, left, next []string) {
	for i, line := range left {
		head := "left"
		if i > 0 {
			head = ""
		}
		t.Say("%-8s%s", head, line)
	}
	for _, line := range next {
		t.Say("type    %s", console.Command(line))
	}
}

// settledAs is a resolution in a word or two.
func settledAs(r effect.Resolution) string {
	words := map[effect.Verdict]string{
		"": "open", effect.NothingToDo: "nothing to do", effect.MayBeRepeated: "may be repeated",
		effect.Happened: "happened", effect.NotHappened: "did not happen",
	}
	return words[r.Verdict]
}

// settledWords is a resolution whole.
func settledWords(r effect.Resolution) string {
	if r.By == "" {
		return settledAs(r)
	}
	if plugin, ok := strings.CutPrefix(r.By, effect.ReconciledBy("")); ok {
		words := fmt.Sprintf("it %s, says the plugin %s at %s", settledAs(r), plugin, stamp(r.At))
		if r.Reference != "" {
			words += ": " + r.Reference
		}
		return words
	}
	return fmt.Sprintf("it %s, says %s at %s: %s", settledAs(r), r.By, stamp(r.At), r.Reason)
}

// statusWord is an effect's status; one without an end runs.
func statusWord(e effect.Record) effect.Status {
	if e.Status == "" {
		return "running"
	}
	return e.Status
}

// sayKept is what is kept about an effect, below its first line.
func sayKept(t *console.Text, e effect.Record) {
	if e.Reason != "" {
		t.Say("  reason    %s", explained(e.Reason))
	}
	if len(e.Arguments) > 0 {
		t.Say("  arguments %s", console.Cut(string(e.Arguments), shownBytes))
	}
	if len(e.Durable) > 0 {
		t.Say("  kept      %s", console.Cut(string(e.Durable), shownBytes))
	}
	if e.Status == effect.Indeterminate {
		t.Say("  settled   %s", whatIsKnown(e))
	}
}
