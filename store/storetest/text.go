package storetest

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/conformance/checkout"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func textCases() []testCase {
	return []testCase{
		{"every text comes back as it was written", textExact},
		{"the public list of naughty strings comes back as it was written", textNaughty},
	}
}

func textExact(t *testing.T, w *world) {
	checkTexts(t, w, []string{
		"", " ", "\x00", "a\x00b", "'; DROP TABLE turns; --", `"`, "\\", "\r\n\t", "é", "e\u0301", "\u202e", "\ufeff", "🏳️‍🌈",
		"null", "NULL", "0", "1e400", "[]", "\u2028",
	})
}

// textNaughty uses github.com/minimaxir/big-list-of-naughty-strings, blns.json.
func textNaughty(t *testing.T, w *world) {
	var texts []string
	if err := json.Unmarshal(checkout.ReadData(t, "naughty-strings", "blns.json"), &texts); err != nil || len(texts) < 400 {
		t.Fatalf("%d strings, %v", len(texts), err)
	}
	checkTexts(t, w, texts)
}

// checkTexts sends each text through every kind of column. One message, question and record carry many.
func checkTexts(t *testing.T, w *world, texts []string) {
	l := w.start(t, alice(), bound())
	by := w.operator(t)
	var messages []turn.Message
	for _, text := range texts {
		body, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, w.message(l, "user", string(body)))
	}
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, messages); how != turn.Written || err != nil {
		t.Fatal(how, err)
	}
	window, err := w.Store.Window(w.ctx, by, l.session, len(texts), 1<<30)
	if err != nil || len(window) != len(texts) {
		t.Fatalf("%d of %d messages, %v", len(window), len(texts), err)
	}
	q := w.question(l)
	q.Needs = texts
	q.Arguments = texts[len(texts)/2]
	if err := w.Store.Ask(w.ctx, q, w.record(event.ApprovalAsked)); err != nil {
		t.Fatal(err)
	}
	asked, found, err := w.Store.Question(w.ctx, by, q.ID)
	if err != nil || !found || asked.Arguments != q.Arguments || len(asked.Needs) != len(texts) {
		t.Fatalf("question %v, %v", found, err)
	}
	s := scopeOf("text", "alice")
	s.Turn = l.turn
	for i, text := range texts {
		if string(window[i].Body) != string(messages[i].Body) {
			t.Errorf("message %q came back as %q", messages[i].Body, window[i].Body)
		}
		if asked.Needs[i] != text {
			t.Errorf("%q came back as %q", text, asked.Needs[i])
		}
		if text == "" || len(text) > 512 || !utf8.ValidString(text) || i%8 != 0 {
			continue // a key; an eighth of them is enough, for each is a transaction
		}
		w.set(t, s, text, text)
		if got, _ := w.get(t, s, text); got != text {
			t.Errorf("value %q came back as %q", text, got)
		}
	}
	w.finish(t, l, turn.Completed)
	for i, text := range texts {
		if i%16 != 0 {
			continue
		}
		a := w.admission(alice(), bound())
		a.Input = text
		got := w.admit(t, a)
		end := w.terminal(live{a.Turn, got.Session, got.Claim}, turn.NeedsUser)
		end.Reply = text
		rec := w.record(event.TurnFinished)
		rec.Fields = []event.Field{event.F("text", text)}
		if how, err := w.Store.Finish(w.ctx, end, rec); how != turn.Written || err != nil {
			t.Fatalf("%q: %s, %v", text, how, err)
		}
		if rec := w.turnOf(t, a.Turn); rec.Input != text || rec.Reply != text {
			t.Errorf("%q came back as input %q and reply %q", text, rec.Input, rec.Reply)
		}
		if got := w.events(t, turn.EventQuery{Limit: 1})[0].Field("text"); len(text) < event.MaxFieldBytes && got != text {
			t.Errorf("field %q came back as %q", text, got)
		}
	}
}
