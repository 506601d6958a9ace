package prompt_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// leaving is a store whose earlier turns left something.
type leaving struct {
	prompt.Journal
	left prompt.Left
}

func (l leaving) Left(context.Context, principal.Scope, id.Session, id.Turn, int) (prompt.Left, error) {
	return l.left, nil
}

func TestAModelIsToldOnceWhatEarlierTurnsLeft(t *testing.T) {
	w := newWorld(t)
	w.say(exchanges(2, 50)...)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	left := prompt.Left{CutOff: true, More: true, Effects: []prompt.Unseen{
		{Tool: "mail.send", Arguments: json.RawMessage(`{"to":"ann"}`), Started: at},
		{Tool: "mail.book", Arguments: json.RawMessage(`{"what":"` + strings.Repeat("x", 500) + `"}`), Started: at, Settled: "happened", Reference: "msg\"1"},
		{Tool: "mail.drop", Started: at, Settled: "not_happened"},
		{Tool: "mail.save", Started: at, Settled: "may_be_repeated"},
		{Tool: "mail.sent", Started: at, Ended: "succeeded", Result: json.RawMessage(`{"id":"m-9","all":"` + strings.Repeat("x", 500) + `"}`)},
		{Tool: "mail.kept", Started: at, Ended: "succeeded"},
		{Tool: "mail.cut", Started: at, Ended: "timed_out"},
	}}
	c := w.open(model(50_000, nil), leaving{w.store, left})
	for n := 1; n <= 2; n++ {
		p := w.prepare(c, step(n))
		var whole string
		for _, m := range p.Messages {
			whole += m.Text()
		}
		for _, want := range []string{
			"turn before this one was cut off", `mail.send, called at 2026-01-02 03:04:05 UTC with {"to":"ann"}: it is not known whether it happened. Do not repeat it`,
			`that it happened (its plugin names "msg\"1"). Do not repeat it`, "found out since that it did not happen", "does no harm", "Older calls than these",
			`it happened, which the conversation does not show. Its result was {"id":"m-9",`, "which the conversation does not show. Do not repeat it.",
			"it was begun and ended as timed_out, which the conversation does not show. It may have done a part",
		} {
			if strings.Count(whole, want) != 1 {
				t.Errorf("step %d says %q %d times: %s", n, want, strings.Count(whole, want), whole)
			}
		}
		if strings.Contains(whole, strings.Repeat("x", 300)) {
			t.Error("arguments stand there whole")
		}
		if p.Messages[0].Role != provider.RoleUser || p.Estimate < 100 {
			t.Errorf("%+v", p)
		}
	}
	if p := w.prepare(w.open(model(50_000, nil)), step(1)); strings.Contains(p.Messages[0].Text(), "Note from the host") {
		t.Error("a note about nothing")
	}
}

// The note is part of what is budgeted, and what became a secret since is hidden in it.
func TestTheNoteIsBudgetedAndHidden(t *testing.T) {
	w := newWorld(t)
	left := prompt.Left{Effects: []prompt.Unseen{{
		Tool: "mail.send", Arguments: json.RawMessage(`{"to":"s3cr3t"}`), Started: w.clock.Now(),
		Settled: "happened", Reference: "message for s3cr3t",
	}}}
	m := model(50_000, nil)
	m.Hide = func(m provider.Message) (provider.Message, bool) {
		return provider.User(strings.ReplaceAll(m.Text(), "s3cr3t", "[hidden]")), true
	}
	with, without := w.prepare(w.open(m, leaving{w.store, left}), step(1)), w.prepare(w.open(m), step(1))
	if text := with.Messages[0].Text(); strings.Count(text, "[hidden]") != 2 || strings.Contains(text, "s3cr3t") {
		t.Errorf("%s", text)
	}
	if with.Estimate < without.Estimate+40 {
		t.Errorf("%d with the note, %d without", with.Estimate, without.Estimate)
	}
}

// A secret that stands where arguments are cut is hidden first.
func TestWhatIsCutOfTheNoteWasHiddenFirst(t *testing.T) {
	const secret = "s3cr3t-of-which-no-part-is-shown"
	w := newWorld(t)
	m := model(50_000, nil)
	m.Hide = func(m provider.Message) (provider.Message, bool) {
		return provider.User(strings.ReplaceAll(m.Text(), secret, "[hidden]")), true
	}
	for n := 190; n < 260; n += 5 {
		doc := `{"to":"` + strings.Repeat("x", n) + secret + strings.Repeat("y", 100) + `"}`
		for _, e := range []prompt.Unseen{{Arguments: json.RawMessage(doc)}, {Ended: "succeeded", Result: json.RawMessage(doc)}} {
			e.Tool, e.Started = "mail.send", w.clock.Now()
			left := prompt.Left{Effects: []prompt.Unseen{e}}
			text := w.prepare(w.open(m, leaving{w.store, left}), step(1)).Messages[0].Text()
			if !strings.Contains(text, "mail.send") || strings.Contains(text, secret[:4]) || strings.Contains(text, "yyy") && n > 235 {
				t.Errorf("behind %d bytes: %s", n, text)
			}
		}
	}
}
