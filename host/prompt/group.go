package prompt

import (
	"fmt"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
)

// keepOfResult is how many bytes of an old tool result stay when it is shortened.
const keepOfResult = 160

// group is a message with everything that makes no sense without it.
type group struct {
	messages []provider.Message
	last     id.Message // the newest stored message of it; empty in the current turn
	size     int        // estimated tokens
	short    bool       // its results were shortened
}

// said is a message with its place in the session.
type said struct {
	id      id.Message
	message provider.Message
}

// groups splits messages: a user message alone, or an assistant message with the tool messages that answer it.
// Tool messages whose assistant message lies before the window are left out, and so are groups whose calls are not all
// answered: vendors refuse both, and they stem from a turn that ended in the middle.
func (c *counter) groups(history []said) []group {
	var all []group
	for _, s := range history {
		m := s.message.Clone()
		switch {
		case m.Role != provider.RoleTool:
			all = append(all, group{messages: []provider.Message{m}, last: s.id})
		case len(all) > 0 && all[len(all)-1].messages[0].Role == provider.RoleAssistant:
			g := &all[len(all)-1]
			g.messages, g.last = append(g.messages, m), s.id
		}
	}
	kept := all[:0]
	for _, g := range all {
		if g.complete() {
			g.size = c.sizeOf(g.messages)
			kept = append(kept, g)
		}
	}
	return kept
}

func (g group) complete() bool {
	open := map[string]bool{}
	for _, c := range g.messages[0].Calls() {
		open[c.ID] = true
	}
	for _, m := range g.messages[1:] {
		for _, p := range m.Parts {
			delete(open, p.Result.CallID)
		}
	}
	return len(open) == 0
}

func (c *counter) sizeOf(messages []provider.Message) int {
	n := 0
	for _, m := range messages {
		n += c.message(m)
	}
	return n
}

// shorten cuts the tool results of g and drops vendor-private parts, which are bound to what they follow. It returns how
// many results it cut.
func (c *counter) shorten(g *group) int {
	n := 0
	for i, m := range g.messages {
		parts := make([]provider.Part, 0, len(m.Parts))
		for _, p := range m.Parts {
			if p.Kind == provider.PartOpaque {
				continue
			}
			if p.Kind == provider.PartToolResult && len(p.Result.Content) > 2*keepOfResult {
				kept := head(p.Result.Content, keepOfResult)
				p.Result.Content = fmt.Sprintf("%s… [%d bytes of an earlier result left out]", kept, len(p.Result.Content)-len(kept))
				n++
			}
			parts = append(parts, p)
		}
		g.messages[i] = provider.Message{Role: m.Role, Parts: parts}
	}
	g.short = true
	g.size = c.sizeOf(g.messages)
	return n
}

func flatten(groups []group) (out []provider.Message) {
	for _, g := range groups {
		out = append(out, g.messages...)
	}
	return out
}

func total(groups []group) int {
	n := 0
	for _, g := range groups {
		n += g.size
	}
	return n
}
