package turn

import (
	"fmt"
	"slices"
	"strings"

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

// again hides in a stored message what the host has come to hold since: a value that was typed first and kept as a
// secret then. What was hidden when it was stored is so already. A message that gives nothing away stays as it is.
func (w *work) again(m provider.Message) (provider.Message, bool) {
	if !w.hides() {
		return m, false
	}
	set := w.known()
	holds := func(text string) bool { _, held := set.Holds([]byte(text)); return held }
	if !slices.ContainsFunc(m.Parts, func(p provider.Part) bool { return holds(said(p)) }) {
		return m, false
	}
	parts := make([]provider.Part, 0, len(m.Parts))
	for _, p := range m.Parts {
		if !holds(said(p)) {
			parts = append(parts, p)
			continue
		}
		switch p.Kind {
		case provider.PartOpaque:
			continue // it is signed: it stands as it is or not at all
		case provider.PartText:
			p.Text = set.Text(redact.ForModel, p.Text)
		case provider.PartToolResult:
			p.Result.Content = set.Text(redact.ForModel, p.Result.Content)
		case provider.PartToolCall:
			p.Call.Arguments = w.catalog.Replay(p.Call.Arguments)
		}
		parts = append(parts, p)
	}
	m.Parts = parts
	return m, true
}

// hides is whether there is anything to hide: as a rule there is not, and then no message of the history need be looked at.
func (w *work) hides() bool { return w.known().Len() > 0 }

// said is the text of a part that may give something away.
func said(p provider.Part) string {
	switch p.Kind {
	case provider.PartOpaque:
		return string(p.Opaque.Data)
	case provider.PartText:
		return p.Text
	case provider.PartToolResult:
		return p.Result.Content
	case provider.PartToolCall:
		return string(p.Call.Arguments)
	}
	return ""
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

// maxSentence is how many bytes of a sentence are told.
const maxSentence = 2048

// told is a sentence as it is shown: on one line and cut between words. A vendor's words may be in it, so that what is
// secret is hidden before anything else is done to it.
func (w *work) told(to redact.Audience, sentence string) string {
	said := strings.Join(strings.Fields(w.known().Text(to, sentence)), " ")
	if len(said) <= maxSentence {
		return said
	}
	end := strings.LastIndexByte(said[:maxSentence+1], ' ')
	return strings.ToValidUTF8(said[:max(end, 0)], "") + "..."
}
