package prompt

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
)

// Bounds of the window that a conversation reads, whatever the transcript's length.
const (
	maxMessages = 400
	maxBytes    = 2 << 20
)

// Times of a compaction.
const (
	compactionTime = 2 * time.Minute        // a lease's life: longer than any summary takes
	waitForOther   = 5 * time.Second        // how long Prepare waits for another's summary
	pollOther      = 100 * time.Millisecond // how often it looks
	restAfterFault = 5 * time.Minute        // nobody tries again before
)

// Config is what a Manager works with. All but Wait are required.
type Config struct {
	Journal Journal
	IDs     *id.Source
	Epoch   id.Epoch
	Clock   func() time.Time
	// Wait blocks for d or until ctx ends; nil: on the real clock.
	Wait func(ctx context.Context, d time.Duration)
}

// Manager prepares what models are shown. It is safe for concurrent use.
type Manager struct {
	cfg Config

	memory memory

	mu       sync.Mutex // guards counters
	counters map[provider.Tokenizer]*counter
}

// New returns a Manager over cfg.
func New(cfg Config) *Manager {
	if cfg.Wait == nil {
		cfg.Wait = wait
	}
	return &Manager{cfg: cfg, counters: map[provider.Tokenizer]*counter{}}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (m *Manager) counter(kind provider.Tokenizer) *counter {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.counters[kind]
	if !ok {
		c = newCounter(kind)
		m.counters[kind] = c
	}
	return c
}

// Model is the model that a turn talks to, as far as fitting goes.
type Model struct {
	Name      string          // the full name, under which it is calibrated
	Limits    provider.Limits // normalised
	MaxOutput int             // the core's own bound on an answer; 0: the model's
	Summary   Summarizer      // nil: nobody summarises, and old groups are left out instead
	// Hide is asked about every message of the history, and about its summary as a text: what became a secret after it was
	// stored is not shown to a model again. It changes nothing in the message it is given, and says whether another is to
	// stand in its place. Nil hides nothing.
	Hide func(provider.Message) (instead provider.Message, changed bool)
	// Hides is whether Hide may change any message now. Nil: it may.
	Hides func() bool
}

// Conversation is one turn's view of its session. It is for one goroutine.
type Conversation struct {
	m     *Manager
	turn  binding.Turn
	model Model
	count *counter

	note      string // about earlier turns; or empty
	snapshot  Snapshot
	groups    []group
	crowded   bool // the history nears the bounds of what is read, or is over them, and no summary was tried
	calibrate Calibration
	reports   []Kept // observed since the last Prepare
	degraded  bool   // an observation could not be kept: estimates are not corrected
	given     map[id.Decision]decision
}

type decision struct{ step, estimate int }

// Open reads the session's window for a turn. An error means that the history cannot be read.
func (m *Manager) Open(ctx context.Context, turn binding.Turn, model Model) (*Conversation, error) {
	c := &Conversation{m: m, turn: turn, model: model, count: m.counter(model.Limits.Tokenizer), given: map[id.Decision]decision{}}
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	left, err := m.cfg.Journal.Left(ctx, turn.Principal(), turn.Session(), turn.ID(), MaxLeft)
	if err != nil {
		return nil, fmt.Errorf("prompt: read what earlier turns of %s left: %w", turn.Session(), err)
	}
	c.note = left.note(func(text string) string { return c.hidden(provider.User(text)).Text() })
	known, err := m.cfg.Journal.Calibration(ctx, model.Name)
	if err != nil {
		c.degraded = true // conservative estimates do without
	}
	c.calibrate = known
	return c, nil
}

// read takes in the session's window: what is remembered of it, and what came since.
func (c *Conversation) read(ctx context.Context) error {
	at := place{c.turn.Session(), c.count.kind}
	known := c.m.memory.recall(at)
	got, err := c.m.cfg.Journal.Context(ctx, c.turn.Principal(), c.turn.Session(), known.mark, maxMessages, maxBytes)
	if err != nil {
		return fmt.Errorf("prompt: read the history of %s: %w", c.turn.Session(), err)
	}
	if !got.Joins || got.Older { // there is nothing to join on, or a gap
		summary := got.Summary
		if got.Joins {
			summary = known.summary
		}
		known = history{summary: summary, older: got.Older}
	}
	var (
		tail         []said
		own, ownSize int
	)
	mark := Mark{got.Revision, known.mark.Last}
	for _, s := range got.Messages {
		if s.Turn == c.turn.ID() { // this turn's messages come with each step
			own, ownSize = own+1, ownSize+len(s.Body)
			continue
		}
		m, err := decode(s.Body)
		if err != nil {
			return fmt.Errorf("prompt: message %s cannot be read: %w (`portcullis store check`)", s.ID, err)
		}
		mark.Last, tail = s.ID, append(tail, said{s.ID, m, len(s.Body)})
	}
	known = c.count.join(known, tail, mark).trim(own, ownSize)
	if mark.Last != "" {
		c.m.memory.keep(at, known)
	}
	c.snapshot = Snapshot{Revision: got.Revision, Summary: known.summary, Older: known.older}
	if s := &c.snapshot.Summary; s.Text != "" {
		s.Text = c.hidden(provider.User(s.Text)).Text()
	}
	c.crowded = known.crowded()
	c.groups = c.concealed(shown(known.groups))
	return nil
}

// concealed are groups with what became a secret after it was stored hidden. What is changed is a copy.
func (c *Conversation) concealed(groups []group) []group {
	if c.model.Hide == nil || c.model.Hides != nil && !c.model.Hides() {
		return groups
	}
	own := false
	for i := range groups {
		messages := groups[i].messages
		for n := range messages {
			hidden, changed := c.model.Hide(messages[n])
			if !changed {
				continue
			}
			if !own {
				groups, own = slices.Clone(groups), true
			}
			g := &groups[i]
			g.messages = slices.Clone(g.messages)
			g.messages[n] = hidden
			g.brief = nil
			g.size = c.count.sizeOf(g.messages)
		}
	}
	return groups
}

func (c *Conversation) hidden(m provider.Message) provider.Message {
	if c.model.Hide != nil {
		m, _ = c.model.Hide(m)
	}
	return m
}
