package rule_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/internal/rule"
	"pgregory.net/rapid"
)

func TestTitleIsTheFirstLineCut(t *testing.T) {
	for input, want := range map[string]string{
		"":                           "",
		" \n\t ":                     "",
		"hello":                      "hello",
		"\n\n  hello \r\nworld":      "hello",
		strings.Repeat("é", 80):      strings.Repeat("é", 80),
		strings.Repeat("é", 81):      strings.Repeat("é", 79) + "…",
		"one line " + string('\x00'): "one line \x00",
	} {
		if got := rule.Title(input); got != want {
			t.Errorf("Title(%q) = %q", input, got)
		}
	}
}

func TestPrefixEndIsTheLeastTextAboveThePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix, text := rapid.String().Draw(t, "prefix"), rapid.String().Draw(t, "text")
		if rapid.Bool().Draw(t, "below") {
			text = prefix + text
		}
		end := rule.PrefixEnd(prefix)
		inside := text >= prefix && (end == "" || text < end)
		if inside != strings.HasPrefix(text, prefix) {
			t.Fatalf("PrefixEnd(%q) = %q puts %q inside: %v", prefix, end, text, inside)
		}
	})
	if got := rule.PrefixEnd("a\xff\xff"); got != "b" {
		t.Errorf("PrefixEnd = %q", got)
	}
	if got := rule.PrefixEnd("\xff"); got != "" {
		t.Errorf("PrefixEnd = %q", got)
	}
}

func TestNormalIsInsideItsBoundsAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := event.Record{Kind: "k", At: time.Unix(0, rapid.Int64Range(0, 1<<60).Draw(t, "at"))}
		for range rapid.IntRange(0, 40).Draw(t, "fields") {
			name := string(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "name"))
			r.Fields = append(r.Fields, event.F(name, strings.Repeat(rapid.String().Draw(t, "value")+"\xff", 40)))
		}
		got := rule.Normal(r)
		if len(got.Fields) > event.MaxFields || got.At.Nanosecond()%1_000_000 != 0 || got.At.Location() != time.UTC {
			t.Fatalf("%d fields at %v", len(got.Fields), got.At)
		}
		for _, f := range got.Fields {
			if len(f.Value) > event.MaxFieldBytes || !utf8.ValidString(f.Name+f.Value) {
				t.Fatalf("field %q", f)
			}
		}
		again := rule.Normal(got)
		for i, f := range again.Fields {
			if f != got.Fields[i] {
				t.Fatalf("field %d changed again: %q, then %q", i, got.Fields[i], f)
			}
		}
	})
}

func TestMayUseComparesEveryFact(t *testing.T) {
	owner := principal.Facts{
		PrincipalID: "p", Authority: principal.Conversation, Channel: "c", ConversationKey: "k", ParentSession: "s",
	}
	for name, change := range map[string]func(*principal.Facts){
		"authority": func(f *principal.Facts) { f.Authority = principal.System },
		"principal": func(f *principal.Facts) { f.PrincipalID = "q" },
		"channel":   func(f *principal.Facts) { f.Channel = "d" },
		"key":       func(f *principal.Facts) { f.ConversationKey = "l" },
		"parent":    func(f *principal.Facts) { f.ParentSession = "" },
	} {
		other := owner
		change(&other)
		if rule.MayUse(other, owner) || rule.SameOwner(other, owner) {
			t.Errorf("another %s may use the session", name)
		}
	}
	operator := principal.Facts{PrincipalID: "o", Authority: principal.Operator}
	if !rule.MayUse(owner, owner) || !rule.MayUse(operator, owner) || rule.MayUse(operator, principal.Facts{}) {
		t.Error("the owner or an operator may not, or an operator may use a session that nobody owns")
	}
}
