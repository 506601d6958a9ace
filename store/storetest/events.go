package storetest

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func eventCases() []testCase {
	return []testCase{
		{"records keep every field in order", recordKeeps},
		{"records are cut to their bounds, never refused for them", recordCut},
		{"records are listed newest first under every filter", recordFilters},
		{"a record that says nothing is refused", recordMalformed},
	}
}

func recordKeeps(t *testing.T, w *world) {
	l := w.start(t, alice(), bound())
	want := w.record(event.EgressDecided)
	want.Session, want.Turn, want.Effect, want.Trace = l.session, l.turn, w.ids.Effect(), w.ids.Trace()
	want.Fields = []event.Field{event.F("b", "2"), event.F("a", "1"), event.F("b", "3"), event.F("", ""), event.F("x", "\x00\"\\<é")}
	if err := w.Store.Record(w.ctx, want); err != nil {
		t.Fatal(err)
	}
	recs := w.events(t, turn.EventQuery{Kind: event.EgressDecided})
	if len(recs) != 1 || len(recs[0].Fields) != len(want.Fields) {
		t.Fatalf("records %+v", recs)
	}
	got := recs[0]
	for i, f := range want.Fields {
		if got.Fields[i] != f {
			t.Errorf("field %d is %q, want %q", i, got.Fields[i], f)
		}
	}
	if got.ID != want.ID || got.Kind != want.Kind || got.Principal != want.Principal || got.Session != want.Session ||
		got.Turn != want.Turn || got.Effect != want.Effect || got.Trace != want.Trace || !got.At.Equal(millis(want.At)) {
		t.Errorf("record %+v, want %+v", got, want)
	}
}

func recordCut(t *testing.T, w *world) {
	r := w.record(event.EgressDecided)
	for range event.MaxFields + 5 {
		r.Fields = append(r.Fields, event.F(strings.Repeat("n", 100), strings.Repeat("é", event.MaxFieldBytes)))
	}
	r.Fields[0].Value = "bad \xff bytes"
	if err := w.Store.Record(w.ctx, r); err != nil {
		t.Fatal(err)
	}
	got := w.events(t, turn.EventQuery{Limit: 1})[0]
	if len(got.Fields) != event.MaxFields {
		t.Errorf("%d fields", len(got.Fields))
	}
	for _, f := range got.Fields {
		if len(f.Value) > event.MaxFieldBytes || !utf8.ValidString(f.Value) {
			t.Errorf("a value has %d bytes, valid %v", len(f.Value), utf8.ValidString(f.Value))
		}
	}
	if got.Fields[0].Value != "bad \uFFFD bytes" {
		t.Errorf("the odd value is %q", got.Fields[0].Value)
	}
}

func recordFilters(t *testing.T, w *world) {
	hers, his := w.start(t, alice(), bound()), w.start(t, bob(), bound())
	begin := w.Clock.Now()
	kinds := []event.Kind{event.EgressDecided, event.PluginInstalled, event.EgressDecided, event.PluginInstalled, event.EgressDecided, event.EgressDecided}
	var all []event.Record
	for i, k := range kinds {
		if i != 4 { // 3 and 4 are of one instant
			w.Clock.Advance(time.Second)
		}
		r := w.record(k)
		switch i % 3 {
		case 0:
			r.Session, r.Turn = hers.session, hers.turn
		case 1:
			r.Session, r.Turn = his.session, his.turn
		}
		if err := w.Store.Record(w.ctx, r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	after := begin.Add(time.Millisecond)
	for name, c := range map[string]struct {
		q    turn.EventQuery
		want []int
	}{
		"since":                {turn.EventQuery{Since: after}, []int{5, 4, 3, 2, 1, 0}},
		"since, limit":         {turn.EventQuery{Since: after, Limit: 2}, []int{5, 4}},
		"since the third":      {turn.EventQuery{Since: all[2].At}, []int{5, 4, 3, 2}},
		"kind":                 {turn.EventQuery{Kind: event.PluginInstalled}, []int{3, 1}},
		"kind, since":          {turn.EventQuery{Kind: event.EgressDecided, Since: all[3].At}, []int{5, 4}},
		"without, limit":       {turn.EventQuery{Without: event.PluginInstalled, Since: after, Limit: 3}, []int{5, 4, 2}},
		"session":              {turn.EventQuery{Session: hers.session, Since: after}, []int{3, 0}},
		"session, kind":        {turn.EventQuery{Session: hers.session, Kind: event.EgressDecided}, []int{0}},
		"turn":                 {turn.EventQuery{Turn: his.turn, Since: after}, []int{4, 1}},
		"turn, kind, limit":    {turn.EventQuery{Turn: his.turn, Kind: event.EgressDecided, Limit: 1}, []int{4}},
		"session and its turn": {turn.EventQuery{Session: his.session, Turn: his.turn, Since: after}, []int{4, 1}},
		"session, other turn":  {turn.EventQuery{Session: his.session, Turn: hers.turn}, nil},
		"nothing so late":      {turn.EventQuery{Since: w.Clock.Now().Add(time.Hour)}, nil},
	} {
		got := w.events(t, c.q)
		if len(got) != len(c.want) {
			t.Errorf("%s: %d records, want %d", name, len(got), len(c.want))
			continue
		}
		for i, n := range c.want {
			if got[i].ID != all[n].ID {
				t.Errorf("%s: record %d is of kind %s", name, i, got[i].Kind)
			}
		}
	}
	own, err := w.Store.Events(w.ctx, w.scope(t, alice(), hers.session), turn.EventQuery{Kind: event.PluginInstalled, Limit: 10})
	if err != nil || len(own) != 1 || own[0].ID != all[3].ID {
		t.Errorf("the owner's view is %+v, %v", own, err)
	}
}

func recordMalformed(t *testing.T, w *world) {
	good := w.record(event.EgressDecided)
	if err := w.Store.Record(w.ctx, good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*event.Record){
		"no id":    func(r *event.Record) { r.ID = "" },
		"no time":  func(r *event.Record) { r.At = time.Time{} },
		"no kind":  func(r *event.Record) { r.Kind = "" },
		"id again": func(r *event.Record) { r.ID = good.ID },
	} {
		r := w.record(event.EgressDecided)
		change(&r)
		if err := w.Store.Record(w.ctx, r); err == nil {
			t.Errorf("%s was recorded", name)
		}
	}
	if got := w.events(t, turn.EventQuery{}); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
}
