package principal_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/principal"
)

func TestKeysAreCanonical(t *testing.T) {
	for want, at := range map[string]principal.Place{
		"telegram:dm:42":                     {Channel: "telegram", Scope: "dm", IDs: []string{"42"}},
		"telegram:group:-100123:thread:7":    {Channel: "telegram", Scope: "group", IDs: []string{"-100123"}, Thread: "7"},
		"slack:channel:T1:C2:thread:17.0001": {Channel: "slack", Scope: "channel", IDs: []string{"T1", "C2"}, Thread: "17.0001"},
		"matrix:room:%21a%3Ab.example":       {Channel: "matrix", Scope: "room", IDs: []string{"!a:b.example"}},
		"email:sender:%20a%40b.example%20":   {Channel: "email", Scope: "sender", IDs: []string{" a@b.example "}},
		"webhook:source:%74hread:thread:x":   {Channel: "webhook", Scope: "source", IDs: []string{"thread"}, Thread: "x"},
		"webhook:source:a:%74hread:b":        {Channel: "webhook", Scope: "source", IDs: []string{"a", "thread", "b"}},
		"webhook:source:%C3%A9%25":           {Channel: "webhook", Scope: "source", IDs: []string{"é%"}},
	} {
		key, err := at.Key()
		if err != nil || key != want {
			t.Errorf("%+v: key %q, want %q (%v)", at, key, want, err)
		}
		if got, err := principal.ParseKey(want); err != nil || !reflect.DeepEqual(got, at) {
			t.Errorf("%s: %+v, want %+v (%v)", want, got, at, err)
		}
	}
}

func TestOtherSpellingsAreRefused(t *testing.T) {
	for _, key := range []string{
		"", "telegram", "telegram:dm", "telegram:dm:", "telegram::1", ":dm:1", "Telegram:dm:1", "tele gram:dm:1", "1t:dm:1",
		"telegram:dm:a b", "telegram:dm:%41", "telegram:dm:%e9", "telegram:dm:%C3", "telegram:dm:%", "telegram:dm:%4", "telegram:dm:%zz",
		"telegram:dm:thread:1", "telegram:dm:1:thread", "telegram:dm:1:thread:", "telegram:dm:1:thread:2:3", "telegram:dm:1:thread:2:thread:3",
		"telegram:dm:1:2:3:4:5", "telegram:dm:1\n", "telegram:dm:é", "telegram:dm:" + strings.Repeat("x", 512),
	} {
		var bad *principal.KeyError
		if got, err := principal.ParseKey(key); !errors.As(err, &bad) || got.Channel != "" {
			t.Errorf("%.40q is read as %+v (%v)", key, got, err)
		}
	}
}

func TestWhatCannotStandInAKey(t *testing.T) {
	good := principal.Place{Channel: "telegram", Scope: "dm", IDs: []string{"42"}}
	for name, do := range map[string]func(*principal.Place){
		"channel":      func(p *principal.Place) { p.Channel = "tele:gram" },
		"long channel": func(p *principal.Place) { p.Channel = strings.Repeat("a", 33) },
		"scope":        func(p *principal.Place) { p.Scope = "" },
		"no id":        func(p *principal.Place) { p.IDs = nil },
		"empty id":     func(p *principal.Place) { p.IDs = []string{""} },
		"many ids":     func(p *principal.Place) { p.IDs = []string{"1", "2", "3", "4", "5"} },
		"not UTF-8":    func(p *principal.Place) { p.IDs = []string{"\xff"} },
		"thread":       func(p *principal.Place) { p.Thread = "\xff" },
		"long":         func(p *principal.Place) { p.IDs = []string{strings.Repeat(" ", 200)} },
	} {
		at := good
		do(&at)
		var bad *principal.KeyError
		if key, err := at.Key(); !errors.As(err, &bad) || key != "" {
			t.Errorf("%s: key %q (%v)", name, key, err)
		}
	}
}

// A text is a key exactly when it is what the place it names is spelled as; and no two places share one.
func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"telegram:dm:42", "slack:channel:T1:C2:thread:17", "a:b:%74hread:thread:x", "a:b:%2", "a:b:thread:c", "::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := principal.ParseKey(text)
		if err != nil {
			return
		}
		again, err := at.Key()
		if err != nil || again != text {
			t.Fatalf("%q names %+v, which is spelled %q (%v)", text, at, again, err)
		}
		for _, id := range append(at.IDs, at.Channel, at.Scope) {
			if id == "" {
				t.Fatalf("%q has an empty part: %+v", text, at)
			}
		}
	})
}

// Whatever ids a platform sends, they come back unchanged, and different ones make different keys.
func FuzzPlaceKey(f *testing.F) {
	f.Add("42", "thread", "", "43")
	f.Add("a:b", "%", "thread", "a%3Ab")
	f.Fuzz(func(t *testing.T, first, second, thread, other string) {
		at := principal.Place{Channel: "c", Scope: "s", IDs: []string{first, second}, Thread: thread}
		key, err := at.Key()
		if err != nil {
			return
		}
		if got, err := principal.ParseKey(key); err != nil || !reflect.DeepEqual(got, at) {
			t.Fatalf("%+v came back as %+v (%v)", at, got, err)
		}
		at.IDs[1] = other
		if changed, err := at.Key(); err == nil && (changed == key) != (other == second) {
			t.Fatalf("%q and %q: keys %q and %q", second, other, key, changed)
		}
	})
}

func TestThePrincipalOfARoomIsTheSender(t *testing.T) {
	room := principal.Place{Channel: "telegram", Scope: "group", IDs: []string{"-100"}, Thread: "7"}
	ann, err := principal.Sender{Channel: "telegram", ID: "1"}.Room(room)
	if err != nil {
		t.Fatal(err)
	}
	bea, err := principal.Sender{Channel: "telegram", ID: "2"}.Room(room)
	if err != nil {
		t.Fatal(err)
	}
	if ann.PrincipalID != "principal:conversation:telegram:1" || ann.ConversationKey != "telegram:group:-100:1:thread:7" {
		t.Errorf("ann is %+v", ann)
	}
	if ann.PrincipalID == bea.PrincipalID || ann.ConversationKey == bea.ConversationKey {
		t.Errorf("two senders of a room share a principal or a conversation: %+v, %+v", ann, bea)
	}
	if got := room.IDs; len(got) != 1 {
		t.Errorf("the room changed: %v", got)
	}
	alone, err := principal.Sender{Channel: "telegram", ID: "1"}.Direct(principal.Place{Channel: "telegram", Scope: "dm", IDs: []string{"1"}})
	if err != nil || alone.PrincipalID != ann.PrincipalID || alone.ConversationKey == ann.ConversationKey {
		t.Errorf("the same person alone: %+v (%v)", alone, err)
	}
	for name, s := range map[string]principal.Sender{
		"the room itself": {Channel: "telegram", ID: "-100"}, "another channel": {Channel: "slack", ID: "1"},
		"nobody": {Channel: "telegram"}, "no channel": {ID: "1"},
	} {
		var bad *principal.KeyError
		if got, err := s.Room(room); !errors.As(err, &bad) {
			t.Errorf("%s: %+v (%v)", name, got, err)
		}
	}
}

func TestPrincipalIDsDoNotRunIntoEachOther(t *testing.T) {
	one, err := principal.SchedulerID("a:b", "c", "d")
	two, err2 := principal.SchedulerID("a", "b:c", "d")
	if err != nil || err2 != nil || one == two || one != "principal:scheduler:a%3Ab:c:d" {
		t.Errorf("%q, %q (%v, %v)", one, two, err, err2)
	}
	child, err := principal.DelegatedID("ses_a", "eff_b")
	if err != nil || child != "principal:delegated_agent:ses_a:eff_b" {
		t.Errorf("%q (%v)", child, err)
	}
	for _, bad := range [][3]string{{"", "s", "r"}, {"c", "", "r"}, {"c", "s", strings.Repeat("x", 600)}} {
		if got, err := principal.SchedulerID(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%q made %q", bad, got)
		}
	}
}
