package prompt

import (
	"fmt"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// Request is one step's material. Prepare changes none of it.
type Request struct {
	Limits    provider.Limits
	MaxOutput int // the core's own bound on the answer; 0: the model's
	System    string
	Tools     []provider.ToolDefinition
	History   []provider.Message // earlier turns, oldest first; may begin in the middle of a group
	Current   []provider.Message // this turn, oldest first; never dropped
}

// Prepared is ready, or an overflow with its sizes. Sizes are estimated tokens.
type Prepared struct {
	Overflow  bool
	Messages  []provider.Message // when ready; the caller's own
	MaxOutput int                // output budget to request
	Estimate  int                // what the request is estimated to take
	Budget    int                // what it may take
	Dropped   int                // messages of history left out
	Shortened int                // tool results of history shortened
}

// Sentence says an overflow in words, with what to do.
func (p Prepared) Sentence() string {
	return fmt.Sprintf("the request needs about %d tokens and %d fit: use a model with a larger window, fewer tools, or start afresh with `--fresh`", p.Estimate, p.Budget)
}

const (
	// bytesPerToken is deliberately low: common tokenizers average 3 to 4 bytes a token on prose and go down to
	// about 2 on dense code, numbers and scripts outside ASCII.
	bytesPerToken = 2
	perMessage    = 8   // role markers and framing
	perTool       = 24  // a definition's framing
	keepOfResult  = 160 // bytes of an old tool result that stay
	minimumOutput = 256
)

// Prepare fits r into its limits.
func Prepare(r Request) Prepared {
	out := r.Limits.MaxOutput
	if r.MaxOutput > 0 {
		out = min(out, r.MaxOutput)
	}
	out = min(out, r.Limits.ContextWindow/2)
	p := Prepared{MaxOutput: max(out, minimumOutput)}
	p.Budget = r.Limits.ContextWindow - p.MaxOutput - r.Limits.SafetyMargin
	fixed := tokens(len(r.System)) + perMessage
	for _, t := range r.Tools {
		fixed += perTool + tokens(len(t.WireName)+len(t.Description)+len(t.InputSchema))
	}
	for _, m := range r.Current {
		fixed += size(m)
	}
	if p.Estimate = fixed; fixed > p.Budget {
		p.Overflow = true
		return p
	}
	groups := causal(r.History)
	total := fixed
	for _, g := range groups {
		total += g.size()
	}
	for i := 0; i < len(groups) && total > p.Budget; i++ {
		before := groups[i].size()
		p.Shortened += groups[i].shorten()
		total += groups[i].size() - before
	}
	for len(groups) > 0 && total > p.Budget {
		total -= groups[0].size()
		p.Dropped += len(groups[0])
		groups = groups[1:]
	}
	// A conversation must begin with a user message; what a dropped one was answered with goes too.
	for len(groups) > 0 && groups[0][0].Role != provider.RoleUser {
		total -= groups[0].size()
		p.Dropped += len(groups[0])
		groups = groups[1:]
	}
	for _, g := range groups {
		p.Messages = append(p.Messages, g...)
	}
	for _, m := range r.Current {
		p.Messages = append(p.Messages, m.Clone())
	}
	p.Estimate = total
	return p
}

func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

func size(m provider.Message) int {
	n := 0
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Arguments) + len(p.Call.Malformed) +
			len(p.Result.CallID) + len(p.Result.Content) + len(p.Opaque.Data)
	}
	return perMessage + tokens(n)
}

// group is a message with everything that makes no sense without it.
type group []provider.Message

func (g group) size() int {
	n := 0
	for _, m := range g {
		n += size(m)
	}
	return n
}

// causal splits history into groups: a user message alone, or an assistant message with the tool messages that
// answer it. Tool messages whose assistant message lies before the window are left out.
func causal(history []provider.Message) []group {
	var groups []group
	for _, m := range history {
		m = m.Clone()
		switch {
		case m.Role != provider.RoleTool:
			groups = append(groups, group{m})
		case len(groups) > 0 && groups[len(groups)-1][0].Role == provider.RoleAssistant:
			groups[len(groups)-1] = append(groups[len(groups)-1], m)
		}
	}
	return complete(groups)
}

// complete leaves out groups whose calls are not all answered: vendors refuse them, and they stem from a turn that
// ended in the middle.
func complete(groups []group) []group {
	kept := groups[:0]
	for _, g := range groups {
		open := map[string]bool{}
		for _, c := range g[0].Calls() {
			open[c.ID] = true
		}
		for _, m := range g[1:] {
			for _, p := range m.Parts {
				delete(open, p.Result.CallID)
			}
		}
		if len(open) == 0 {
			kept = append(kept, g)
		}
	}
	return kept
}

// shorten cuts the tool results of g and drops vendor-private parts, which are bound to what they follow.
func (g group) shorten() int {
	n := 0
	for i, m := range g {
		var parts []provider.Part
		for _, p := range m.Parts {
			if p.Kind == provider.PartOpaque {
				continue
			}
			if p.Kind == provider.PartToolResult && len(p.Result.Content) > keepOfResult {
				p.Result.Content = fmt.Sprintf("%s… [%d bytes of an earlier result left out]",
					head(p.Result.Content, keepOfResult), len(p.Result.Content)-keepOfResult)
				n++
			}
			parts = append(parts, p)
		}
		g[i].Parts = parts
	}
	return n
}

// head is at most n bytes of s, cut on a rune border.
func head(s string, n int) string {
	for n > 0 && n < len(s) && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:min(n, len(s))]
}
