package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// refuses fails unless the call answers with code and words.
func refuses(t *testing.T, p *plugintest.Plugin, tool string, in any, code sdk.Code, says string) {
	t.Helper()
	f := p.Fault(t, tool, encode(t, in))
	if f.Code != code || !strings.Contains(f.Message, says) {
		t.Errorf("%s %.200s gave %s %q, want %s with %q", tool, encode(t, in), f.Code, f.Message, code, says)
	}
}

// stored is the value of a note as some other call wrote it.
func stored(t *testing.T, n note) string {
	t.Helper()
	n.Call = cmp.Or(n.Call, "eff_other")
	return encode(t, n)
}

func TestSaveReadChangeRead(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := plugintest.New(t).At(start)
	made := plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{Title: new("Buy milk & bread!"), Body: new("two of each"), Tags: &[]string{"Shopping", "#home", "home"}})
	if made.ID != "buy-milk-bread" || !made.Created {
		t.Fatalf("made %+v", made)
	}
	got := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: made.ID})
	want := ReadOut{
		ID: made.ID, Version: made.Version, Title: "Buy milk & bread!", Body: "two of each", Tags: []string{"home", "shopping"},
		Created: "2026-03-01T12:00:00Z", Updated: "2026-03-01T12:00:00Z",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	p.At(start.Add(time.Hour))
	changed := plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{ID: made.ID, Version: made.Version, Title: new("Buy wine")})
	if changed.ID != made.ID || changed.Created || changed.Version == made.Version {
		t.Errorf("changed %+v", changed)
	}
	want.Version, want.Title, want.Updated = changed.Version, "Buy wine", "2026-03-01T13:00:00Z"
	if got := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: made.ID}); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{ID: made.ID, Version: changed.Version, Body: new(""), Tags: &[]string{}})
	if got := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: made.ID}); got.Body != "" || len(got.Tags) != 0 || got.Title != "Buy wine" {
		t.Errorf("after clearing body and tags: %+v", got)
	}
}

func TestNoChangeIsLost(t *testing.T) {
	p := plugintest.New(t).Keys(map[string]string{"note/plan": stored(t, note{Title: "plan", Body: "a"})})
	read := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: "plan"})
	plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{ID: "plan", Version: read.Version, Body: new("ab")})
	refuses(t, p, "notes.save", SaveIn{ID: "plan", Version: read.Version, Body: new("ac")}, sdk.Conflict, "read it again")
	refuses(t, p, "notes.save", SaveIn{ID: "plan", Body: new("ac")}, sdk.Invalid, "needs the version")
	refuses(t, p, "notes.delete", DeleteIn{ID: "plan", Version: read.Version}, sdk.Conflict, "read it again")
	if got := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: "plan"}); got.Body != "ab" {
		t.Errorf("the note says %q", got.Body)
	}
	// A note that was deleted and another that got its id are two notes.
	before := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: "plan"})
	plugintest.Call[DeleteOut](t, p, "notes.delete", DeleteIn{ID: "plan", Version: before.Version})
	p.At(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{Title: new("plan"), Body: new("other")})
	after := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: "plan"})
	again := plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{ID: "plan", Version: after.Version, Body: new("other")})
	for _, old := range []string{before.Version, read.Version, after.Version} {
		refuses(t, p, "notes.save", SaveIn{ID: "plan", Version: old, Body: new("ac")}, sdk.Conflict, "read it again")
		refuses(t, p, "notes.delete", DeleteIn{ID: "plan", Version: old}, sdk.Conflict, "read it again")
	}
	if again.Version == before.Version {
		t.Errorf("two notes share the version %s", again.Version)
	}
	// Somebody who writes between our reading and our writing.
	p.Fail(wire.ImportKVSet, "note/plan", sdk.Conflict, "another version")
	now := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: "plan"}).Version
	refuses(t, p, "notes.save", SaveIn{ID: "plan", Version: now, Body: new("ac")}, sdk.Conflict, "read it again")
	refuses(t, p, "notes.delete", DeleteIn{ID: "plan"}, sdk.Conflict, "read it again")
}

func TestNewNotesNeverOverwrite(t *testing.T) {
	p := plugintest.New(t).Keys(map[string]string{
		"note/plan":   stored(t, note{Title: "plan", Body: "same"}),
		"note/plan-2": "", // is being deleted
		"note/plan-3": "damaged",
	})
	out := plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{Title: new("Plan"), Body: new("same")})
	if out.ID != "plan-4" || !out.Created {
		t.Errorf("made %+v", out)
	}
}

// The host may repeat a call whose end it does not know.
func TestARepeatedSaveFindsItsOwnWork(t *testing.T) {
	p := plugintest.New(t)
	in := SaveIn{Title: new("plan"), Body: new("a")}
	first := plugintest.Call[SaveOut](t, p, "notes.save", in)
	if again := plugintest.Call[SaveOut](t, p, "notes.save", in); again != first {
		t.Errorf("the first call made %+v, its repetition %+v", first, again)
	}
	change := SaveIn{ID: first.ID, Version: first.Version, Body: new("b")}
	second := plugintest.Call[SaveOut](t, p, "notes.save", change)
	if again := plugintest.Call[SaveOut](t, p, "notes.save", change); again != second {
		t.Errorf("the first call wrote %+v, its repetition %+v", second, again)
	}
	if got := plugintest.Call[FindOut](t, p, "notes.find", FindIn{Limit: 9}); got.Total != 1 {
		t.Errorf("there are %d notes", got.Total)
	}
}

func TestSaveRefuses(t *testing.T) {
	p := plugintest.New(t).Keys(map[string]string{"note/bad": "{"})
	for _, c := range []struct {
		in   SaveIn
		code sdk.Code
		says string
	}{
		{SaveIn{Body: new("x")}, sdk.Invalid, "title"},
		{SaveIn{Title: new("  ")}, sdk.Invalid, "title is empty"},
		{SaveIn{Title: new("a\nb")}, sdk.Invalid, "one line"},
		{SaveIn{Title: new(strings.Repeat("日", 100))}, sdk.Invalid, "200 bytes"},
		{SaveIn{Title: new("a"), Body: new(strings.Repeat("日", 20000))}, sdk.TooLarge, "60000 bytes"},
		{SaveIn{Title: new("a"), Version: "3-x"}, sdk.Invalid, "has no version"},
		{SaveIn{Title: new("a"), Tags: &[]string{"two words"}}, sdk.Invalid, "one word"},
		{SaveIn{Title: new("a"), Tags: &[]string{""}}, sdk.Invalid, "one word"},
		{SaveIn{Title: new("a"), Tags: &[]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"}}, sdk.Invalid, "17 tags"},
		{SaveIn{ID: "none", Version: "1-0"}, sdk.NotFound, "none"},
		{SaveIn{ID: "../x", Version: "1-0"}, sdk.Invalid, "no id"},
		{SaveIn{ID: "bad", Version: "1-0"}, sdk.Failed, "damaged"},
	} {
		refuses(t, p, "notes.save", c.in, c.code, c.says)
	}
	if got := plugintest.Call[FindOut](t, p, "notes.find", FindIn{Limit: 9}); got.Total != 0 || got.Unreadable != 1 || len(p.Logs()) != 1 {
		t.Errorf("the refused calls left %+v, logs %v", got, p.Logs())
	}
	// What JSON has to quote makes a value larger than its text.
	plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{Title: new("quotes"), Body: new(strings.Repeat("\"", maxBody-5) + "<\n&>")})
	refuses(t, p, "notes.save", SaveIn{Title: new("control"), Body: new(strings.Repeat("\x01", maxBody))}, sdk.TooLarge, "at most 65536")
	p.Fail(wire.ImportKVSet, "", sdk.TooLarge, "the store is full")
	refuses(t, p, "notes.save", SaveIn{Title: new("a")}, sdk.TooLarge, "the store is full")
}

func TestNotesAreCounted(t *testing.T) {
	keys := map[string]string{"other/key": "x"}
	for i := range maxNotes - 1 {
		keys[fmt.Sprintf("note/n%d", i)] = stored(t, note{Title: "n"})
	}
	p := plugintest.New(t).Keys(keys)
	last := plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{Title: new("last")})
	refuses(t, p, "notes.save", SaveIn{Title: new("one more")}, sdk.TooLarge, "500 notes")
	plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{ID: last.ID, Version: last.Version, Body: new("changing is possible")})
	if out := plugintest.Call[FindOut](t, p, "notes.find", FindIn{Limit: 100}); out.Total != maxNotes || len(out.Notes) != 100 {
		t.Errorf("found %d, shown %d", out.Total, len(out.Notes))
	}
	plugintest.Call[DeleteOut](t, p, "notes.delete", DeleteIn{ID: "n0"})
	plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{Title: new("one more")})
}

func TestFind(t *testing.T) {
	long := strings.Repeat("é ", 300) + "Needle" + strings.Repeat(" x", 300)
	p := plugintest.New(t).Keys(map[string]string{
		"note/a":    stored(t, note{Title: "Alpha", Body: "one\ntwo", Tags: []string{"x"}, UpdatedMS: 1000}),
		"note/b":    stored(t, note{Title: "Beta", Body: "TWO three", Tags: []string{"x", "y"}, UpdatedMS: 3000}),
		"note/c":    stored(t, note{Title: "Gamma", Body: long, UpdatedMS: 2000}),
		"note/gone": "",
	})
	for _, c := range []struct {
		in    FindIn
		ids   string
		total int
	}{
		{FindIn{Limit: 9}, "b c a", 3},
		{FindIn{Query: "two", Limit: 9}, "b a", 2},
		{FindIn{Query: "TWO alpha", Limit: 9}, "a", 1},
		{FindIn{Query: "y", Limit: 9}, "b", 1},
		{FindIn{Tag: "#X", Limit: 9}, "b a", 2},
		{FindIn{Tag: "x", Query: "three", Limit: 9}, "b", 1},
		{FindIn{Query: "none", Limit: 9}, "", 0},
		{FindIn{Limit: 1}, "b", 3},
	} {
		out := plugintest.Call[FindOut](t, p, "notes.find", c.in)
		var ids []string
		for _, n := range out.Notes {
			ids = append(ids, n.ID)
		}
		if strings.Join(ids, " ") != c.ids || out.Total != c.total {
			t.Errorf("%+v gave %v of %d, want %s of %d", c.in, ids, out.Total, c.ids, c.total)
		}
	}
	out := plugintest.Call[FindOut](t, p, "notes.find", FindIn{Query: "needle", Limit: 1})
	if e := out.Notes[0].Excerpt; !strings.Contains(e, "Needle") || !strings.HasPrefix(e, "…") || !strings.HasSuffix(e, "…") || len(e) > maxExcerpt+10 {
		t.Errorf("the excerpt is %q", e)
	}
	if e := plugintest.Call[FindOut](t, p, "notes.find", FindIn{Query: "alpha", Limit: 1}).Notes[0].Excerpt; e != "one two" {
		t.Errorf("the excerpt is %q", e)
	}
	p.Fail(wire.ImportKVGet, "note/a", sdk.Unavailable, "busy")
	refuses(t, p, "notes.find", FindIn{Limit: 9}, sdk.Unavailable, "busy")
}

func TestDelete(t *testing.T) {
	p := plugintest.New(t).Keys(map[string]string{"note/a": stored(t, note{Title: "a"}), "note/bad": "{", "note/half": ""})
	version := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: "a"}).Version
	refuses(t, p, "notes.read", ReadIn{ID: "half"}, sdk.NotFound, "no note half")
	for _, in := range []DeleteIn{{ID: "a", Version: version}, {ID: "bad"}, {ID: "half"}} {
		plugintest.Call[DeleteOut](t, p, "notes.delete", in)
		if _, ok := p.Key("note/" + in.ID); ok {
			t.Errorf("%s is still there", in.ID)
		}
		refuses(t, p, "notes.delete", in, sdk.NotFound, "notes.find gives ids")
	}
	refuses(t, p, "notes.delete", DeleteIn{ID: "A"}, sdk.Invalid, "no id")
	// A crash between the two steps leaves nothing that a tool still shows.
	p.Keys(map[string]string{"note/c": stored(t, note{Title: "c"})})
	p.Fail(wire.ImportKVDelete, "", sdk.IO, "disk")
	refuses(t, p, "notes.delete", DeleteIn{ID: "c"}, sdk.IO, "disk")
	refuses(t, p, "notes.read", ReadIn{ID: "c"}, sdk.NotFound, "no note c")
	if out := plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{Title: new("c")}); out.ID != "c-2" {
		t.Errorf("the id of a half-deleted note was given out: %+v", out)
	}
}

func TestIDs(t *testing.T) {
	for title, want := range map[string]string{
		"Buy milk": "buy-milk", "  --A  b--": "a-b", "日本語": "note", "Über-café": "ber-caf", "x": "x", "2026: plan": "2026-plan",
	} {
		if got := newID(title); got != want {
			t.Errorf("newID(%q) = %q, want %q", title, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.String().Draw(t, "title")
		if id := newID(title); !validID(id) || !validID(id+"-1001") || strings.HasPrefix(id, "-") || strings.HasSuffix(id, "-") {
			t.Fatalf("newID(%q) = %q", title, id)
		}
	})
}

// Whatever is saved, changed and deleted, the store has what a map would have.
func TestStoreIsAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plugintest.New(t)
		want := map[string]string{} // body by id
		versions := map[string]string{}
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			body := fmt.Sprint("body ", i)
			ids := make([]string, 0, len(want))
			for id := range want {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			switch op := rapid.IntRange(0, 2).Draw(rt, "op"); {
			case op == 0 || len(ids) == 0:
				title := rapid.SampledFrom([]string{"a", "b", "a 2"}).Draw(rt, "title")
				out := plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{Title: &title, Body: &body})
				if _, taken := want[out.ID]; taken {
					rt.Fatalf("%q was given to a second note", out.ID)
				}
				want[out.ID], versions[out.ID] = body, out.Version
			case op == 1:
				id := rapid.SampledFrom(ids).Draw(rt, "id")
				out := plugintest.Call[SaveOut](t, p, "notes.save", SaveIn{ID: id, Version: versions[id], Body: &body})
				want[id], versions[id] = body, out.Version
			default:
				id := rapid.SampledFrom(ids).Draw(rt, "id")
				plugintest.Call[DeleteOut](t, p, "notes.delete", DeleteIn{ID: id, Version: versions[id]})
				delete(want, id)
			}
		}
		for id, body := range want {
			if got := plugintest.Call[ReadOut](t, p, "notes.read", ReadIn{ID: id}); got.Body != body || got.Version != versions[id] {
				rt.Fatalf("%s is %+v, want %q", id, got, body)
			}
		}
		if out := plugintest.Call[FindOut](t, p, "notes.find", FindIn{Limit: 100}); out.Total != len(want) {
			rt.Fatalf("found %d notes, want %d", out.Total, len(want))
		}
	})
}

// FuzzDecode: a stored value is refused, or is a note within the bounds that
// encodes to the same again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"title":"a","body":"b","tags":["x"],"created_ms":1,"updated_ms":2,"call":"c"}`))
	f.Add([]byte(`{"title":"","tags":null}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, value []byte) {
		n, err := decode(value)
		if err != nil {
			return
		}
		if len(n.Title) > maxTitle || len(n.Body) > maxBody || len(n.Tags) > maxTags {
			t.Fatalf("%q was accepted past the bounds", value)
		}
		again, err := decode([]byte(encode(t, n)))
		if err != nil || !again.same(n) || again.CreatedMS != n.CreatedMS || again.UpdatedMS != n.UpdatedMS || again.Call != n.Call {
			t.Fatalf("%+v encodes to %+v, %v", n, again, err)
		}
	})
}
