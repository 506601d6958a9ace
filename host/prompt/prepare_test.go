package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
)

func TestEverythingFitsUnchanged(t *testing.T) {
	w := newWorld(t)
	w.say(exchange(1, 100)...)
	p := w.prepare(w.open(model(100_000, w.writer)), step(1))
	if p.Overflow || p.Dropped != 0 || p.Shortened != 0 || p.Summarised || len(p.Messages) != 5 || p.Decision == "" {
		t.Fatalf("%+v", p)
	}
	if got := p.Messages[2].Parts[0].Result.Content; got != exchange(1, 100)[2].Parts[0].Result.Content {
		t.Fatalf("a result that fits was changed: %q", got)
	}
	if len(w.writer.seen) != 0 {
		t.Errorf("a summary was written for nothing: %q", w.writer.seen)
	}
}

func TestOldResultsAreShortenedBeforeAnythingElse(t *testing.T) {
	w := newWorld(t)
	w.say(exchanges(4, 8000)...)
	p := w.prepare(w.open(model(8_000, w.writer)), step(1))
	if p.Overflow || p.Dropped != 0 || p.Shortened == 0 || p.Summarised {
		t.Fatalf("dropped %d, shortened %d, summarised %v, overflow %v", p.Dropped, p.Shortened, p.Summarised, p.Overflow)
	}
	if first := p.Messages[2].Parts[0].Result.Content; !strings.Contains(first, "left out") {
		t.Errorf("the oldest result was not the first to be shortened: %q", first)
	}
}

func TestWhatCannotFitIsAnOverflowWithItsSizes(t *testing.T) {
	w := newWorld(t)
	w.say(exchanges(3, 100)...)
	c := w.open(model(4_000, nil))
	p := w.prepare(c, step(1, provider.User(strings.Repeat("many different words here ", 2000))))
	if !p.Overflow || p.Reason != prompt.OverflowTurn || p.Messages != nil || p.Decision != "" || p.Estimate <= p.Budget || !strings.Contains(p.Sentence(), "--fresh") {
		t.Fatalf("%+v %s", p, p.Sentence())
	}
	tiny := w.prepare(w.open(prompt.Model{Name: "m", Limits: provider.Limits{ContextWindow: 100, MaxOutput: 80, SafetyMargin: 90}}), step(1))
	if !tiny.Overflow || tiny.Reason != prompt.OverflowModel {
		t.Errorf("%+v", tiny)
	}
}

func TestALongTurnShortensItsOwnOldResults(t *testing.T) {
	w := newWorld(t)
	current := append([]provider.Message{provider.User("now")}, exchanges(1, 0)[0:0]...)
	for i := range 6 {
		current = append(current, exchange(i, 6000)[1:3]...)
	}
	p := w.prepare(w.open(model(8_000, nil)), step(7, current...))
	if p.Overflow || p.Shortened == 0 || p.Messages[0].Text() != "now" || len(p.Messages) != len(current) {
		t.Fatalf("%+v", p)
	}
	if last := p.Messages[len(p.Messages)-1].Parts[0].Result.Content; strings.Contains(last, "left out") {
		t.Error("the newest result was shortened")
	}
}

func TestUnansweredCallsOfABrokenTurnAreLeftOut(t *testing.T) {
	w := newWorld(t)
	w.say(exchange(1, 10)[:2]...)
	for _, m := range w.prepare(w.open(model(100_000, nil)), step(1)).Messages {
		if len(m.Calls()) > 0 {
			t.Fatal("a call without its result was shown to the model")
		}
	}
}

// tokens counts a prepared request as the model would, by its own tokenizer and at the least framing that vendors publish.
func tokens(t interface{ Fatal(...any) }, s prompt.Step, p prompt.Prepared) int {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	n := 3
	add := func(text string) {
		k, err := codec.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	add(s.System)
	for _, m := range p.Messages {
		n += 3
		for _, part := range m.Parts {
			add(part.Text + part.Call.Name + string(part.Call.Arguments) + part.Result.Content)
		}
	}
	return n
}

// words are texts of different density: prose, numbers, another script.
func words(kind, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		switch kind % 3 {
		case 0:
			fmt.Fprintf(&b, "The gateway reads rule %d at the start. ", i)
		case 1:
			fmt.Fprintf(&b, "%d,%d;", i*7919, i*104729)
		default:
			b.WriteString("門は最初に規則を読みます。")
		}
	}
	return b.String()
}

func TestPreparedNeverExceedsTheWindowAndKeepsGroupsWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var h []provider.Message
		for n := range rapid.IntRange(0, 40).Draw(rt, "turns") {
			one := exchange(n, rapid.IntRange(0, 3000).Draw(rt, "bytes"))
			one[0] = provider.User(words(rapid.IntRange(0, 2).Draw(rt, "kind"), rapid.IntRange(10, 2000).Draw(rt, "question")))
			h = append(h, one...)
		}
		if h = h[rapid.IntRange(0, len(h)).Draw(rt, "cut"):]; len(h) > 0 {
			w.say(h...)
		}
		window := rapid.SampledFrom([]int{2_000, 8_000, 32_000}).Draw(rt, "window")
		by := []prompt.Summarizer{nil, w.writer}[rapid.IntRange(0, 1).Draw(rt, "writer")]
		s := step(1)
		s.System = words(0, rapid.IntRange(0, 3000).Draw(rt, "system"))
		p := w.prepare(w.open(model(window, by)), s)
		if p.Overflow {
			return
		}
		if p.Estimate > p.Budget || tokens(rt, s, p)+p.MaxOutput > window {
			rt.Fatalf("estimate %d of %d, really %d, output %d, window %d", p.Estimate, p.Budget, tokens(rt, s, p), p.MaxOutput, window)
		}
		wellFormed(rt, p)
	})
}

func wellFormed(t interface{ Fatalf(string, ...any) }, p prompt.Prepared) {
	if p.Messages[0].Role != provider.RoleUser || p.Messages[len(p.Messages)-1].Text() != "now" {
		t.Fatalf("must begin with a user message and end with the current one")
	}
	open := map[string]bool{}
	for _, m := range p.Messages {
		for _, c := range m.Calls() {
			open[c.ID] = true
		}
		for _, part := range m.Parts {
			if part.Kind == provider.PartToolResult {
				if !open[part.Result.CallID] {
					t.Fatalf("result %s without its call", part.Result.CallID)
				}
				delete(open, part.Result.CallID)
			}
		}
	}
	if len(open) != 0 {
		t.Fatalf("a call without its result")
	}
}

// TestAMillionTokensNeverExceedAWindow is a transcript of more than a million tokens, prepared for the windows that models
// have, with and without somebody who summarises, turn after turn.
func TestAMillionTokensNeverExceedAWindow(t *testing.T) {
	w := newWorld(t)
	var batch []provider.Message
	for i := range 50 {
		one := exchange(i, 6000)
		one[0] = provider.User(words(i, 4000))
		batch = append(batch, one...)
	}
	each, n := tokens(t, prompt.Step{}, prompt.Prepared{Messages: batch}), 0
	for ; n < 1_000_000; n += each {
		w.say(batch...)
	}
	for _, window := range []int{200_000, 32_000, 8_000} {
		for _, by := range []prompt.Summarizer{nil, w.writer} {
			s := step(1)
			p := w.prepare(w.open(model(window, by)), s)
			if p.Overflow {
				t.Errorf("%d: overflow: %s", window, p.Sentence())
				continue
			}
			if got := tokens(t, s, p); got+p.MaxOutput > window {
				t.Errorf("%d: %d tokens and %d for the answer", window, got, p.MaxOutput)
			}
			wellFormed(t, p)
			t.Logf("window %d: %d tokens prepared of %d, %d messages, summarised %v, shortened %d, left out %d",
				window, tokens(t, s, p), n, len(p.Messages), p.Summarised, p.Shortened, p.Dropped)
		}
	}
}
