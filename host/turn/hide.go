package turn

import (
	"fmt"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// hide puts what a model said into the model view, for the store and to be shown to a model again: a model may repeat
// a value that it got from elsewhere. The calls are what the gate gets: as the model wrote them, under the ids of the
// message.
func (w *work) hide(m provider.Message) (provider.Message, []provider.ToolCall) {
	calls := m.Calls()
	for i, p := range m.Parts { // before any text: what arguments give away must not stand in one
		if p.Kind == provider.PartToolCall && len(p.Call.Arguments) > 0 {
			m.Parts[i].Call.Arguments = w.catalog.Replay(p.Call.Arguments)
		}
	}
	set := w.catalog.Redactor()
	n := 0
	parts := m.Parts[:0]
	for _, p := range m.Parts {
		switch p.Kind {
		case provider.PartText:
			p.Text = set.Text(redact.ForModel, p.Text)
		case provider.PartToolCall:
			p.Call = hideNames(set, p.Call, n)
			calls[n].ID = p.Call.ID
			n++
		case provider.PartOpaque:
			if _, held := set.Holds(p.Opaque.Data); held {
				continue // it is signed: it stands as it is or not at all
			}
		}
		parts = append(parts, p)
	}
	m.Parts = parts
	return m, calls
}

// hideNames hides what a vendor takes as a word and no text. A mask would not be one, so that another word stands in.
func hideNames(set redact.Set, c provider.ToolCall, n int) provider.ToolCall {
	if set.Text(redact.ForModel, c.ID) != c.ID {
		c.ID = fmt.Sprintf("call_hidden_%d", n)
	}
	if set.Text(redact.ForModel, c.Name) != c.Name {
		c.Name = "hidden"
	}
	c.Malformed = set.Text(redact.ForModel, c.Malformed)
	return c
}

// known is what the turn hides, as far as it has come.
func (w *work) known() redact.Set {
	if w.catalog == nil {
		return w.a.plan.Setup.Known
	}
	return w.catalog.Redactor()
}
