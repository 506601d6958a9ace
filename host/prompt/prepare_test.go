package prompt_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
)

func limits(window int) provider.Limits {
	return provider.Limits{ContextWindow: window, MaxOutput: window / 8, SafetyMargin: window / 10}
}

// exchange is one old turn: a question, a call, its result, an answer.
func exchange(n, resultBytes int) []provider.Message {
	call := fmt.Sprintf("c%d", n)
	return []provider.Message{
		provider.User(fmt.Sprintf("question %d", n)),
		provider.Assistant(provider.Call(provider.ToolCall{ID: call, Name: "calc-eval", Arguments: json.RawMessage(`{}`)})),
		provider.ToolResults(provider.ToolResult{CallID: call, Content: strings.Repeat("é", resultBytes/2)}),
		provider.Assistant(provider.Text(fmt.Sprintf("answer %d", n))),
	}
}

func TestEverythingFitsUnchanged(t *testing.T) {
	h := exchange(1, 100)
	p := prompt.Prepare(prompt.Request{Limits: limits(100_000), System: "s", History: h, Current: []provider.Message{provider.User("now")}})
	if p.Overflow || p.Dropped != 0 || p.Shortened != 0 || len(p.Messages) != 5 {
		t.Fatalf("%+v", p)
	}
	if p.Messages[2].Parts[0].Result.Content != h[2].Parts[0].Result.Content {
		t.Fatal("a result that fits was changed")
	}
}

func TestOldResultsAreShortenedBeforeAnythingIsDropped(t *testing.T) {
	var h []provider.Message
	for n := range 3 {
		h = append(h, exchange(n, 5000)...)
	}
	p := prompt.Prepare(prompt.Request{Limits: limits(8_000), History: h, Current: []provider.Message{provider.User("now")}})
	if p.Overflow || p.Dropped != 0 || p.Shortened == 0 {
		t.Fatalf("dropped %d, shortened %d, overflow %v", p.Dropped, p.Shortened, p.Overflow)
	}
	if got := h[2].Parts[0].Result.Content; len(got) != 5000 {
		t.Fatal("Prepare changed its argument")
	}
}

func TestCurrentTurnThatCannotFitIsAnOverflowWithSizes(t *testing.T) {
	p := prompt.Prepare(prompt.Request{Limits: limits(2_000), Current: []provider.Message{provider.User(strings.Repeat("x", 10_000))}})
	if !p.Overflow || p.Messages != nil || p.Estimate <= p.Budget || !strings.Contains(p.Sentence(), "--fresh") {
		t.Fatalf("%+v %s", p, p.Sentence())
	}
}

func TestUnansweredCallsOfABrokenTurnAreLeftOut(t *testing.T) {
	h := exchange(1, 10)[:2]
	p := prompt.Prepare(prompt.Request{Limits: limits(100_000), History: h, Current: []provider.Message{provider.User("now")}})
	for _, m := range p.Messages {
		if len(m.Calls()) > 0 {
			t.Fatal("a call without its result was shown to the model")
		}
	}
}

func TestPreparedNeverExceedsTheWindowAndKeepsGroupsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h []provider.Message
		for n := range rapid.IntRange(0, 40).Draw(t, "turns") {
			h = append(h, exchange(n, rapid.IntRange(0, 3000).Draw(t, "bytes"))...)
		}
		h = h[rapid.IntRange(0, len(h)).Draw(t, "cut"):]
		window := rapid.SampledFrom([]int{2_000, 8_000, 32_000}).Draw(t, "window")
		p := prompt.Prepare(prompt.Request{
			Limits: limits(window), System: strings.Repeat("s", rapid.IntRange(0, 3000).Draw(t, "system")),
			History: h, Current: []provider.Message{provider.User("now")},
		})
		if p.Overflow {
			return
		}
		if p.Estimate+p.MaxOutput > window {
			t.Fatalf("estimate %d + output %d over the window %d", p.Estimate, p.MaxOutput, window)
		}
		if p.Messages[0].Role != provider.RoleUser || p.Messages[len(p.Messages)-1].Text() != "now" {
			t.Fatal("must begin with a user message and end with the current one")
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
			t.Fatal("a call without its result")
		}
	})
}
