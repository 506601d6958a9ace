package prompt

import (
	"container/list"
	"slices"
	"sync"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
)

// maxRemembered bounds what is kept of the sessions' histories, in bytes as estimated.
const maxRemembered = 16 << 20

// What a message and a session cost in memory besides the stored bytes.
const (
	perRemembered = 320
	perSession    = 512
)

// history is a session's window as it was last read: every message after the summary's cutoff that fits the bounds, as
// stored, with its size. Messages never change once they are written, so the next turn reads only what came since, and
// the store says whether that still joins on. It is immutable.
type history struct {
	mark    Mark
	summary Summary
	older   bool // messages after the cutoff lie before these
	groups  []group
}

// join is h with what was read after it.
func (c *counter) join(h history, tail []said, mark Mark) history {
	h.mark = mark
	if len(tail) == 0 {
		return h
	}
	// The newest group may go on with the answers to its calls; nothing that is shared with h is changed.
	h.groups = c.group(slices.Clone(h.groups), tail)
	for i := range h.groups {
		if g := &h.groups[i]; g.brief == nil {
			g.brief = c.briefly(g.messages)
		}
	}
	return h
}

// trim leaves out the oldest groups until the rest is within the bounds of a window that holds also other messages.
func (h history) trim(others, otherBytes int) history {
	messages, bytes := others, otherBytes
	keep := len(h.groups)
	for ; keep > 0; keep-- {
		g := &h.groups[keep-1]
		messages, bytes = messages+g.stored, bytes+g.bytes
		if messages > maxMessages || bytes > maxBytes {
			break
		}
	}
	h.older = h.older || keep > 0
	h.groups = h.groups[keep:]
	return h
}

// crowded is whether h has more than three quarters of what is read of a session, or something lies before it.
func (h *history) crowded() bool {
	messages, bytes := 0, 0
	for _, g := range h.groups {
		messages, bytes = messages+g.stored, bytes+g.bytes
	}
	return h.older || messages > maxMessages/4*3 || bytes > maxBytes/4*3
}

// cost is what h takes in memory, as estimated.
func (h *history) cost() int {
	n := perSession + len(h.summary.Text)
	for _, g := range h.groups {
		n += g.bytes + g.stored*perRemembered
	}
	return n
}

// place is where a history is kept: sizes are of a tokenizer.
type place struct {
	session id.Session
	kind    provider.Tokenizer
}

// memory keeps the histories of the sessions that had a turn last. The zero value is ready; it is safe for concurrent use.
type memory struct {
	mu    sync.Mutex // guards what follows
	order list.List  // of *kept, the latest first
	at    map[place]*list.Element
	bytes int
}

type kept struct {
	place
	history
	cost int
}

// recall is what is known of a session; the zero history when nothing is.
func (m *memory) recall(p place) history {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.at[p]
	if !ok {
		return history{}
	}
	m.order.MoveToFront(e)
	return e.Value.(*kept).history
}

// keep replaces what is known of a session, and forgets the sessions that had no turn for longest.
func (m *memory) keep(p place, h history) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		m.at = map[place]*list.Element{}
	}
	if e, ok := m.at[p]; ok {
		m.drop(e)
	}
	k := &kept{p, h, h.cost()}
	m.at[p] = m.order.PushFront(k)
	m.bytes += k.cost
	for m.bytes > maxRemembered {
		m.drop(m.order.Back())
	}
}

func (m *memory) drop(e *list.Element) {
	k := m.order.Remove(e).(*kept)
	m.bytes -= k.cost
	delete(m.at, k.place)
}
