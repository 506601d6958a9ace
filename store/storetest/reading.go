package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func readingCases() []testCase {
	return []testCase{
		{"a window holds the newest messages that fit, oldest first", windowBounds},
		{"a window spans the turns of its session", windowSpans},
		{"lists come newest first and stop at the limit", listOrder},
		{"the pages of a list are the list", pagesOfLists},
		{"limits outside their range are refused", limitsRefused},
		{"what was read is the caller's own", readsAreCopies},
	}
}

func windowBounds(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	var bodies []string
	for i := range 6 {
		bodies = append(bodies, fmt.Sprintf(`{"n":%d,"x":%q}`, i, strings.Repeat("x", i)))
		m := w.message(l, []string{"user", "assistant", "tool"}[i%3], bodies[i])
		if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{m}); how != turn.Written || err != nil {
			t.Fatal(how, err)
		}
	}
	size := func(from int) (n int) {
		for _, b := range bodies[from:] {
			n += len(b)
		}
		return n
	}
	for _, c := range []struct{ limit, bytes, from int }{
		{100, 1000, 0},
		{6, 1000, 0},
		{2, 1000, 4},
		{1, 1000, 5},
		{100, size(3), 3},
		{100, size(3) - 1, 4},
		{100, len(bodies[5]), 5},
		{100, len(bodies[5]) - 1, 6},
		{3, size(4), 4},
	} {
		got, err := w.Store.Window(w.ctx, w.scope(t, alice(), l.session), l.session, c.limit, c.bytes)
		var texts []string
		for _, m := range got {
			texts = append(texts, string(m.Body))
			if m.Turn != l.turn || m.ID == "" || !m.At.Equal(millis(w.Clock.Now())) {
				t.Errorf("message %+v", m)
			}
		}
		if err != nil || !slices.Equal(texts, bodies[c.from:]) {
			t.Errorf("limit %d, %d bytes: %v, %v", c.limit, c.bytes, texts, err)
		}
	}
	for _, bad := range [][2]int{{0, 1}, {1, 0}, {-1, 1}} {
		if got, err := w.Store.Window(w.ctx, w.operator(t), l.session, bad[0], bad[1]); err == nil {
			t.Errorf("window of %v: %v", bad, got)
		}
	}
}

func windowSpans(t *testing.T, w *world) {
	var want []id.Message
	for range 3 {
		l := w.start(t, alice(), bound())
		m := []turn.Message{w.message(l, "user", `1`), w.message(l, "assistant", `"two"`)}
		if how, err := w.Store.Append(w.ctx, l.turn, l.claim, m); how != turn.Written || err != nil {
			t.Fatal(how, err)
		}
		want = append(want, m[0].ID, m[1].ID)
		w.finish(t, l, turn.Completed)
	}
	session, _, err := w.Store.BoundSession(w.ctx, alice())
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Store.Window(w.ctx, w.operator(t), session, 4, 1000)
	if err != nil || len(got) != 4 {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	for i, m := range got {
		if m.ID != want[i+2] {
			t.Errorf("message %d is %s", i, m.ID)
		}
	}
}

func listOrder(t *testing.T, w *world) {
	var sessions []id.Session
	var turns []id.Turn
	for i := range 4 {
		sessions = append(sessions, w.ended(t, talker(fmt.Sprint("p", i)), bound()).session)
		w.Clock.Advance(time.Second)
	}
	for range 3 {
		turns = append(turns, w.ended(t, talker("p1"), bound()).turn) // p1 is the latest now
		w.Clock.Advance(time.Second)
	}
	got, err := w.Store.Sessions(w.ctx, w.operator(t), 0, 3)
	if err != nil || len(got) != 3 || got[0].ID != sessions[1] || got[1].ID != sessions[3] || got[2].ID != sessions[2] || got[0].Turns != 4 {
		t.Errorf("sessions %+v, %v", got, err)
	}
	recs, err := w.Store.Turns(w.ctx, w.scope(t, talker("p1"), sessions[1]), sessions[1], 0, 2)
	if err != nil || len(recs) != 2 || recs[0].ID != turns[2] || recs[1].ID != turns[1] {
		t.Errorf("turns %+v, %v", recs, err)
	}
	all, err := w.Store.Turns(w.ctx, w.operator(t), "", 0, 5)
	if err != nil || len(all) != 5 || all[0].ID != turns[2] || all[2].ID != turns[0] || all[3].Session != sessions[3] || all[4].Session != sessions[2] {
		t.Errorf("turns of every session %+v, %v", all, err)
	}
	own, err := w.Store.Turns(w.ctx, w.scope(t, talker("p1"), sessions[1]), "", 0, 10)
	if err != nil || len(own) != 4 || own[0].ID != turns[2] || own[3].Session != sessions[1] {
		t.Errorf("turns of whoever reaches one session %+v, %v", own, err)
	}
}

func limitsRefused(t *testing.T, w *world) {
	l := w.ended(t, alice(), bound())
	by := w.operator(t)
	for name, list := range map[string]struct {
		most int // of a page
		call func(skip, limit int) error
	}{
		"Sessions":   {500, func(skip, n int) error { _, err := w.Store.Sessions(w.ctx, by, skip, n); return err }},
		"Turns":      {500, func(skip, n int) error { _, err := w.Store.Turns(w.ctx, by, l.session, skip, n); return err }},
		"EveryTurn":  {500, func(skip, n int) error { _, err := w.Store.Turns(w.ctx, by, "", skip, n); return err }},
		"Questions":  {500, func(skip, n int) error { _, err := w.Store.Questions(w.ctx, by, "", skip, n); return err }},
		"Deliveries": {500, func(skip, n int) error { _, err := w.Store.Deliveries(w.ctx, by, "", skip, n); return err }},
		"Uncertain":  {500, func(skip, n int) error { _, err := w.Store.Uncertain(w.ctx, by, false, skip, n); return err }},
		"Tasks":      {500, func(skip, n int) error { _, err := w.Store.Tasks(w.ctx, by, "", "", skip, n); return err }},
		"Events": {1000, func(skip, n int) error {
			_, err := w.Store.Events(w.ctx, by, turn.EventQuery{Skip: skip, Limit: n})
			return err
		}},
	} {
		for _, part := range [][2]int{{0, -1}, {0, 0}, {0, list.most + 2}, {-1, 1}, {100_001, 1}} {
			if list.call(part[0], part[1]) == nil {
				t.Errorf("%s took skip and limit %d", name, part)
			}
		}
		for _, part := range [][2]int{{0, 1}, {0, list.most + 1}, {480, 21}, {100_000, list.most + 1}} {
			if err := list.call(part[0], part[1]); err != nil {
				t.Errorf("%s refused skip and limit %d: %v", name, part, err)
			}
		}
	}
}

// pagesOfLists goes through every listing page by page, whoever looks: the pages together are the list, in its order.
func pagesOfLists(t *testing.T, w *world) {
	var owned []id.Session
	for i := range 3 {
		l := w.start(t, talker(fmt.Sprint("p", i)), bound())
		w.ask(t, l)
		w.finish(t, l, turn.Completed)
		owned = append(owned, l.session)
		w.Clock.Advance(time.Second)
	}
	for range 4 {
		w.Clock.Advance(time.Second)
		w.ended(t, talker("p1"), bound())
	}
	for who, by := range map[string]principal.Scope{"operator": w.operator(t), "p1": w.scope(t, talker("p1"), owned[1])} {
		for name, list := range map[string]func(skip, limit int) ([]string, error){
			"Sessions": func(skip, limit int) ([]string, error) {
				got, err := w.Store.Sessions(w.ctx, by, skip, limit)
				return names(got, func(s turn.Session) string { return string(s.ID) }), err
			},
			"Turns": func(skip, limit int) ([]string, error) {
				got, err := w.Store.Turns(w.ctx, by, owned[1], skip, limit)
				return names(got, func(r turn.Record) string { return string(r.ID) }), err
			},
			"EveryTurn": func(skip, limit int) ([]string, error) {
				got, err := w.Store.Turns(w.ctx, by, "", skip, limit)
				return names(got, func(r turn.Record) string { return string(r.ID) }), err
			},
			"Questions": func(skip, limit int) ([]string, error) {
				got, err := w.Store.Questions(w.ctx, by, "", skip, limit)
				return names(got, func(q approval.Question) string { return string(q.ID) }), err
			},
			"Events": func(skip, limit int) ([]string, error) {
				got, err := w.Store.Events(w.ctx, by, turn.EventQuery{Without: event.OperatorIssued, Skip: skip, Limit: limit})
				return names(got, func(r event.Record) string { return string(r.ID) }), err
			},
		} {
			whole, err := list(0, 100)
			if err != nil || len(whole) == 0 {
				t.Fatalf("%s of %s: %d, %v", name, who, len(whole), err)
			}
			var paged []string
			for skip := 0; skip <= len(whole)+2; skip += 2 {
				page, err := list(skip, 2)
				if err != nil || len(page) != max(0, min(2, len(whole)-skip)) {
					t.Errorf("%s of %s behind %d: %d, %v", name, who, skip, len(page), err)
				}
				paged = append(paged, page...)
			}
			if !slices.Equal(paged, whole) {
				t.Errorf("%s of %s: pages\n%v\nare not\n%v", name, who, paged, whole)
			}
		}
	}
}

func names[T any](all []T, name func(T) string) []string {
	var out []string
	for _, one := range all {
		out = append(out, name(one))
	}
	return out
}

func readsAreCopies(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	s, q := w.begin(t, l), w.ask(t, l)
	body := []byte(`{"a":1}`)
	m := w.message(l, "user", "")
	m.Body = body
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{m}); how != turn.Written || err != nil {
		t.Fatal(how, err)
	}
	body[0], s.Arguments[0], q.Needs[0] = 'X', 'X', "X" // what was handed in
	by := w.operator(t)
	for range 2 { // and, the first time round, what came out
		window, err := w.Store.Window(w.ctx, by, l.session, 1, 100)
		if err != nil || len(window) != 1 || window[0].Body[0] != '{' {
			t.Fatalf("window %+v, %v", window, err)
		}
		effects, err := w.Store.Effects(w.ctx, by, l.turn)
		if err != nil || len(effects) != 1 || effects[0].Arguments[0] != '{' {
			t.Fatalf("effects %+v, %v", effects, err)
		}
		asked, _, err := w.Store.Question(w.ctx, by, q.ID)
		if err != nil || asked.Needs[0] != "kv" {
			t.Fatalf("question %+v, %v", asked, err)
		}
		record := w.record(event.PluginInstalled)
		record.Fields = []event.Field{event.F("a", "b")}
		if err := w.Store.Record(w.ctx, record); err != nil {
			t.Fatal(err)
		}
		record.Fields[0].Value = "X"
		recs := w.events(t, turn.EventQuery{Limit: 1})
		if recs[0].Field("a") != "b" {
			t.Fatalf("record %+v", recs[0])
		}
		window[0].Body[0], effects[0].Arguments[0], asked.Needs[0], recs[0].Fields[0].Value = 'X', 'X', "X", "X"
	}
}
