package prompt_test

import (
	"encoding/json"
	"testing"

	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
)

// sealedParts are how many vendor-private parts are in messages.
func sealedParts(messages []provider.Message) (n int) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind == provider.PartOpaque {
				n++
			}
		}
	}
	return n
}

// A vendor binds its private parts to all that came before them: where something of that is changed, those of the history
// are left out, of every message, and this turn's stay. What is remembered of the history keeps them.
func TestPrivatePartsLeaveAHistoryThatIsChanged(t *testing.T) {
	w := newWorld(t)
	private := provider.Part{Kind: provider.PartOpaque, Opaque: provider.Opaque{Source: "test", Data: json.RawMessage(`{"signature":"x"}`)}}
	const exchanged = 4
	for _, m := range exchanges(exchanged, 8000) {
		if m.Role == provider.RoleAssistant { // two of each exchange: one that calls, and one that only says something
			m.Parts = append([]provider.Part{private}, m.Parts...)
		}
		w.say(m)
	}
	m := w.manager()
	now := []provider.Message{provider.User("now"), exchange(9, 10)[1], exchange(9, 10)[2]}
	now[1].Parts = append([]provider.Part{private}, now[1].Parts...)
	prepare := func(window int) prompt.Prepared {
		return w.prepare(openIn(t, w, m, model(window, nil)), step(2, now...))
	}
	for _, c := range []struct {
		name           string
		window, sealed int
	}{
		{"all fits", 100_000, 2*exchanged + 1},
		{"some results are shortened", 8_000, 1},
		{"all fits again", 100_000, 2*exchanged + 1},
	} {
		p := prepare(c.window)
		if changed := p.Shortened > 0; p.Overflow || p.Dropped > 0 || changed != (c.sealed == 1) || p.Shortened == exchanged {
			t.Fatalf("%s: shortened %d, dropped %d, overflow %v", c.name, p.Shortened, p.Dropped, p.Overflow)
		}
		if got := sealedParts(p.Messages); got != c.sealed {
			t.Errorf("%s: %d private parts, not %d", c.name, got, c.sealed)
		}
	}
}
