package prompt

import (
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
)

// keepOfResult is how many bytes of an old tool result stay when it is shortened.
const keepOfResult = 160

// group is a message with everything that makes no sense without it. Its messages are shared, also between turns, and
// never changed: what changes a group gives it others.
type group struct {
	messages []provider.Message
	last     id.Message // the newest stored message of it; empty in the current turn
	stored   int        // messages that were read, and their bytes, also of those that answer nothing
	bytes    int
	size     int  // estimated tokens
	whole    bool // every call is answered
	brief    *brief
	short    bool // brief stands for it already
	sealed   bool // a message has vendor-private parts
}

// brief is what stands for a group whose tool results are shortened. It is immutable.
type brief struct {
	messages []provider.Message
	size     int
	cut      int // results that were shortened
}

// said is a message with its place in the session and how many bytes it has there.
type said struct {
	id      id.Message
	message provider.Message
	bytes   int
}

// group adds messages to groups: a user message alone, or an assistant message with the tool messages that answer it.
// Tool messages that answer none of the group before are left out.
func (c *counter) group(all []group, tail []said) []group {
	for _, s := range tail {
		m := s.message
		switch {
		case m.Role != provider.RoleTool:
			all = append(all, group{messages: []provider.Message{m}, last: s.id, size: c.message(m)})
		case len(all) == 0:
			continue
		case all[len(all)-1].messages[0].Role == provider.RoleAssistant:
			g := &all[len(all)-1]
			g.messages, g.last = append(slices.Clip(g.messages), m), s.id
			g.size += c.message(m)
		}
		g := &all[len(all)-1]
		g.brief = nil // of what it was
		g.sealed = slices.ContainsFunc(g.messages, sealed)
		g.stored, g.bytes = g.stored+1, g.bytes+s.bytes
		g.whole = g.complete()
	}
	return all
}

// shown are the groups that a model can be shown: vendors refuse calls that are not all answered, which stem from a turn
// that ended in the middle.
func shown(all []group) []group {
	broken := func(g group) bool { return !g.whole }
	if !slices.ContainsFunc(all, broken) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), broken)
}

func (g group) complete() bool {
	calls := g.messages[0].Calls()
	if len(calls) == 0 {
		return true
	}
	open := map[string]bool{}
	for _, c := range calls {
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

// shorten puts g's brief in its place. It returns how many results were cut.
func (c *counter) shorten(g *group) int {
	if g.short {
		return 0
	}
	b := g.brief
	if b == nil {
		b = c.briefly(g.messages)
	}
	g.messages, g.size, g.short = b.messages, b.size, true
	return b.cut
}

// briefly cuts tool results and drops vendor-private parts, which are bound to what they follow.
func (c *counter) briefly(messages []provider.Message) *brief {
	b := &brief{messages: make([]provider.Message, len(messages))}
	for i, m := range messages {
		parts := make([]provider.Part, 0, len(m.Parts))
		for _, p := range m.Parts {
			if p.Kind == provider.PartOpaque {
				continue
			}
			if p.Kind == provider.PartToolResult && len(p.Result.Content) > 2*keepOfResult {
				kept := head(p.Result.Content, keepOfResult)
				p.Result.Content = fmt.Sprintf("%s… [%d bytes of an earlier result left out]", kept, len(p.Result.Content)-len(kept))
				b.cut++
			}
			parts = append(parts, p)
		}
		b.messages[i] = provider.Message{Role: m.Role, Parts: parts}
	}
	b.size = c.sizeOf(b.messages)
	return b
}

// flatten are the messages of a preface and of groups in one list.
func flatten(preface []provider.Message, parts ...[]group) []provider.Message {
	n := len(preface)
	for _, groups := range parts {
		for _, g := range groups {
			n += len(g.messages)
		}
	}
	out := append(make([]provider.Message, 0, n), preface...)
	for _, groups := range parts {
		for _, g := range groups {
			out = append(out, g.messages...)
		}
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
