package prompt_test

import (
	"crypto/sha256"
	"encoding/json"
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
	if strings.Contains(p.Sentence(), "context_window") {
		t.Errorf("a window that was given is said to be assumed: %s", p.Sentence())
	}
	unknown := w.prepare(w.open(prompt.Model{Name: "m", Limits: provider.LimitsFor("m", 0, 0)}), step(1, provider.User(strings.Repeat("many different words here ", 2000))))
	if !unknown.Overflow || !strings.Contains(unknown.Sentence(), "window of 8192 tokens is assumed: set context_window") {
		t.Errorf("%+v %s", unknown, unknown.Sentence())
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

// vocabulary counts the tokens of a text as some model does.
type vocabulary func(text string) int

// published are the vocabularies that we count with; to a model whose own is not known each may be near, and so may one
// that takes digits, line ends and tabs one by one, as those of several vendors do.
func published(t interface{ Fatal(...any) }) map[string]vocabulary {
	all := map[string]vocabulary{}
	for _, e := range []tokenizer.Encoding{tokenizer.O200kBase, tokenizer.Cl100kBase, tokenizer.P50kBase} {
		codec, err := tokenizer.Get(e)
		if err != nil {
			t.Fatal(err)
		}
		all[string(e)] = func(text string) int {
			n, err := codec.Count(text)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	all["one by one"] = func(text string) int {
		n := 0
		for _, piece := range strings.FieldsFunc(text, single) {
			n += all[string(tokenizer.O200kBase)](piece)
		}
		for _, r := range text {
			if single(r) {
				n++
			}
		}
		return n
	}
	return all
}

func single(r rune) bool { return r >= '0' && r <= '9' || r == '\n' || r == '\t' }

// tokens counts a prepared request as a model of the first published vocabulary would.
func tokens(t interface{ Fatal(...any) }, s prompt.Step, p prompt.Prepared) int {
	return tokensBy(published(t)[string(tokenizer.O200kBase)], s, p)
}

// tokensBy counts a prepared request as the model would, at the least framing that vendors publish.
func tokensBy(count vocabulary, s prompt.Step, p prompt.Prepared) int {
	n := 3
	add := func(text string) { n += count(text) }
	add(s.System)
	for _, tool := range s.Tools {
		n += 8
		add(tool.WireName)
		add(tool.Description)
		add(string(tool.InputSchema))
	}
	for _, m := range p.Messages {
		n += 3
		for _, part := range m.Parts {
			for _, text := range []string{part.Text, part.Call.Name, string(part.Call.Arguments), part.Result.Content} {
				add(text)
			}
		}
	}
	return n
}

// kindsOfWords is how many kinds [words] knows.
const kindsOfWords = 9

// words are texts of different density: prose, numbers, code, what machines write, and other scripts.
func words(kind, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		switch kind % kindsOfWords {
		case 0:
			fmt.Fprintf(&b, "The gateway reads rule %d at the start. ", i)
		case 1:
			fmt.Fprintf(&b, "%d,%d;", i*7919, i*104729)
		case 2:
			b.WriteString("門は最初に規則を読みます。")
		case 3:
			b.WriteString("Шлюз сначала читает правила. ")
		case 4:
			b.WriteString("ประตูอ่านกฎก่อน 🙂👍🏽")
		case 5:
			fmt.Fprintf(&b, "\n\t\t\tif n%d > 0 {\n\t\t\t\treturn n\n\t\t\t}", i)
		case 6:
			fmt.Fprintf(&b, `{"id":"trn_%08x%08x","at":%d},`, i*2654435761, i*40503, 1796103117813+i)
		case 7:
			fmt.Fprintf(&b, "\n%s}", strings.Repeat(" ", i%60))
		default:
			fmt.Fprintf(&b, "%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		}
	}
	return b.String()
}

// unknown is a model of which nobody says how it counts.
func unknown(window int, by prompt.Summarizer) prompt.Model {
	m := model(window, by)
	m.Limits.Tokenizer = ""
	return m
}

// TestNoVocabularyNeedsMoreThanTheEstimate holds single texts to the estimate: a model that says how it counts is known to
// the token, and one that does not is not above the estimate in any vocabulary there is, even where a lower ratio was once
// reported.
func TestNoVocabularyNeedsMoreThanTheEstimate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var text string
		for range rapid.IntRange(1, 4).Draw(rt, "pieces") {
			text += words(rapid.IntRange(0, kindsOfWords-1).Draw(rt, "kind"), rapid.IntRange(1, 6000).Draw(rt, "bytes"))
		}
		text += rapid.StringN(0, 40, -1).Draw(rt, "anything")
		w := newWorld(t)
		s := step(1, provider.User(text))
		p := w.prepare(w.open(unknown(1_000_000, nil)), s)
		for name, count := range published(rt) {
			// A quarter more is added until a model has reported anything: without it the estimate must do too.
			if got := tokensBy(count, s, p); got > p.Estimate*4/5 {
				rt.Fatalf("%s needs %d tokens, the estimate is %d, without what is added at first %d", name, got, p.Estimate, p.Estimate*4/5)
			}
		}
	})
}

func TestPreparedNeverExceedsTheWindowAndKeepsGroupsWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var h []provider.Message
		for n := range rapid.IntRange(0, 40).Draw(rt, "turns") {
			one := exchange(n, rapid.IntRange(0, 3000).Draw(rt, "bytes"))
			one[0] = provider.User(words(rapid.IntRange(0, kindsOfWords-1).Draw(rt, "kind"), rapid.IntRange(10, 2000).Draw(rt, "question")))
			h = append(h, one...)
		}
		if h = h[rapid.IntRange(0, len(h)).Draw(rt, "cut"):]; len(h) > 0 {
			w.say(h...)
		}
		window := rapid.SampledFrom([]int{2_000, 8_000, 32_000}).Draw(rt, "window")
		by := []prompt.Summarizer{nil, w.writer}[rapid.IntRange(0, 1).Draw(rt, "writer")]
		s := step(1)
		s.System = words(0, rapid.IntRange(0, 3000).Draw(rt, "system"))
		m, all := model(window, by), published(rt)
		if rapid.Bool().Draw(rt, "unknown") {
			m = unknown(window, by)
		} else {
			all = map[string]vocabulary{"its own": all[string(tokenizer.O200kBase)]}
		}
		p := w.prepare(w.open(m), s)
		if p.Overflow {
			return
		}
		for name, count := range all {
			if got := tokensBy(count, s, p); p.Estimate > p.Budget || got+p.MaxOutput > window {
				rt.Fatalf("estimate %d of %d, by %s really %d, output %d, window %d", p.Estimate, p.Budget, name, got, p.MaxOutput, window)
			}
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

// TestAMillionTokensNeverExceedAWindow is a transcript of more than a million tokens, of all kinds of text, with several calls
// at once and results of a few bytes to 60 KiB, prepared for the windows that models have: by models that say how they count
// and by ones that do not, with and without somebody who summarises, step after step of a turn that goes on.
func TestAMillionTokensNeverExceedAWindow(t *testing.T) {
	w, all := newWorld(t), published(t)
	var batch []provider.Message
	for i := range 4 * kindsOfWords {
		batch = append(batch, provider.User(words(i, 3000)))
		batch = append(batch, calls(i, 1+i%3, []int{100, 6000, 60 << 10}[i%3])...)
		batch = append(batch, provider.Assistant(provider.Text(words(i+1, 2000))))
	}
	each, n := tokens(t, prompt.Step{}, prompt.Prepared{Messages: batch}), 0
	for ; n < 1_000_000; n += each {
		w.say(batch...)
	}
	requests, overflows, most := 0, 0, 0.0
	for _, window := range []int{200_000, 32_000, 8_000} {
		for _, m := range []prompt.Model{model(window, nil), model(window, w.writer), unknown(window, nil), unknown(window, w.writer)} {
			by := all
			if m.Limits.Tokenizer != "" {
				by = map[string]vocabulary{"its own": all[string(tokenizer.O200kBase)]}
			}
			c, current := w.open(m), []provider.Message{provider.User("now")}
			for number := range 1 + kindsOfWords {
				s := step(number+1, current...)
				s.Tools = []provider.ToolDefinition{{WireName: "calc-eval", Description: words(0, 400), InputSchema: json.RawMessage(`{"type":"object","properties":{"expression":{"type":"string"}}}`)}}
				p := w.prepare(c, s)
				requests++
				if p.Overflow {
					overflows++
					if number == 0 {
						t.Errorf("%d: overflow: %s", window, p.Sentence())
					}
					break
				}
				for name, count := range by {
					if number%3 != 0 { // counting takes most of the time
						break
					}
					got := tokensBy(count, s, p)
					most = max(most, float64(got+p.MaxOutput)/float64(window))
					if got+p.MaxOutput > window {
						t.Errorf("%d, step %d: %d tokens by %s and %d for the answer", window, number, got, name, p.MaxOutput)
					}
				}
				if number == 0 {
					wellFormed(t, p)
				}
				current = append(current, calls(number, 2, window/40)...)
			}
		}
	}
	t.Logf("a transcript of %d tokens: %d requests, %d of them overflows, the largest %.0f%% of its window", n, requests, overflows, 100*most)
	if requests-overflows < 60 {
		t.Errorf("only %d requests were prepared", requests-overflows)
	}
}

// calls is an answer that makes several calls, with their results.
func calls(kind, n, bytes int) []provider.Message {
	var asked []provider.Part
	var results []provider.ToolResult
	for i := range n {
		name := fmt.Sprintf("c%d_%d", kind, i)
		arguments, err := json.Marshal(map[string]string{"expression": words(kind+i, 100)})
		if err != nil {
			arguments = nil
		}
		asked = append(asked, provider.Part{Kind: provider.PartToolCall, Call: provider.ToolCall{ID: name, Name: "calc-eval", Arguments: arguments}})
		results = append(results, provider.ToolResult{CallID: name, Content: words(kind+i, bytes)})
	}
	return []provider.Message{provider.Assistant(asked...), provider.ToolResults(results...)}
}
