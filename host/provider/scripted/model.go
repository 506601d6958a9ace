package scripted

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// maxSessions bounds the places one model keeps.
const maxSessions = 1_024

// Model is a [provider.Model] that answers from a script.
type Model struct {
	script *Script
	limits provider.Limits

	mu     sync.Mutex // guards places
	places map[string]*place
}

// place is where one session stands in the script.
type place struct {
	next  int
	calls int // tool calls made so far, for ids
}

// New loads the script a configuration names. The error is a
// [*provider.ConfigError], a [*SyntaxError] or one of reading the file.
func New(cfg provider.Config) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Kind != provider.Scripted {
		return nil, &provider.ConfigError{Field: "kind", Sentence: "must be scripted here"}
	}
	script, err := Load(cfg.Script)
	if err != nil {
		return nil, err
	}
	m := script.Model()
	if cfg.ContextWindow > 0 || cfg.MaxOutputTokens > 0 {
		window, output := cfg.ContextWindow, cfg.MaxOutputTokens
		if window == 0 {
			window = script.limits.ContextWindow
		}
		if output == 0 {
			output = min(script.limits.MaxOutput, window/2)
		}
		m.limits = limits(window, output)
	}
	return m, nil
}

// Model returns a model at the start of the script.
func (s *Script) Model() *Model {
	return &Model{script: s, limits: s.limits, places: make(map[string]*place)}
}

// Limits returns the limits the script claims.
func (m *Model) Limits() provider.Limits { return m.limits }

// Name returns scripted/ and the script's model name.
func (m *Model) Name() string { return string(provider.Scripted) + "/" + m.script.model }

// Unmet says which expectation of a script did not hold.
type Unmet struct {
	Script   string
	Step     int // from 1
	Line     int // of the step; 0 when the script has no such step
	Expected string
	Seen     string // cut at 200 characters
}

// Error returns the whole sentence.
func (u *Unmet) Error() string {
	at := fmt.Sprintf("step %d", u.Step)
	if u.Line > 0 {
		at += fmt.Sprintf(" (line %d)", u.Line)
	}
	return fmt.Sprintf("%s, %s: expected %s; saw %s", u.Script, at, u.Expected, u.Seen)
}

// Generate plays the session's next step; see [provider.Model]. A step that
// fails its expectation is not used up.
func (m *Model) Generate(ctx context.Context, req provider.Request, events func(provider.Event)) (provider.Response, error) {
	if err := req.Validate(); err != nil {
		return provider.Response{}, err
	}
	if ctx.Err() != nil {
		return provider.Response{}, provider.Canceled(ctx, string(provider.Scripted))
	}
	req = req.Clone()
	index, firstCall, err := m.advance(req)
	if err != nil {
		return provider.Response{}, err
	}
	s := m.script.steps[index]
	player := player{ctx: ctx, step: s, out: provider.NewAssembler(req, provider.Caps{}, events)}
	player.out.Identify(m.script.model, fmt.Sprintf("script-%d", index+1))
	if s.failure != nil {
		return provider.Response{}, player.fail()
	}
	return player.answer(req, firstCall)
}

// advance checks the session's next step against req and, if it holds, moves on.
func (m *Model) advance(req provider.Request) (index, firstCall int, err error) {
	session := req.Metadata[provider.MetadataSession]
	m.mu.Lock()
	defer m.mu.Unlock()
	p, known := m.places[session]
	if !known {
		if len(m.places) >= maxSessions {
			return 0, 0, &provider.Error{Kind: provider.KindScript, Provider: string(provider.Scripted), Sentence: fmt.Sprintf("more than %d sessions run one script", maxSessions)}
		}
		p = &place{}
		m.places[session] = p
	}
	if p.next == len(m.script.steps) && m.script.repeat {
		p.next = 0
	}
	if p.next == len(m.script.steps) {
		last := req.Messages[len(req.Messages)-1]
		return 0, 0, m.unmet(p.next, 0, "no further request", fmt.Sprintf("one that ends with a %s message: add a step, or set repeat: true", last.Role))
	}
	s := m.script.steps[p.next]
	if expected, seen, ok := s.expect.broken(req); !ok {
		return 0, 0, m.unmet(p.next, s.line, expected, seen)
	}
	index, firstCall = p.next, p.calls
	p.next++
	p.calls += len(s.calls)
	return index, firstCall, nil
}

func (m *Model) unmet(index, line int, expected, seen string) *provider.Error {
	if seen == "" {
		seen = "nothing"
	}
	if runes := []rune(seen); len(runes) > 200 {
		seen = string(runes[:200]) + "..."
	}
	u := &Unmet{Script: m.script.name, Step: index + 1, Line: line, Expected: expected, Seen: seen}
	return &provider.Error{Kind: provider.KindScript, Provider: string(provider.Scripted), Sentence: u.Error(), Cause: u}
}

// Done returns nil when every session has played the script to its end (for a
// repeating script: to the end of a round), and there was one. Otherwise it
// names what is left.
func (m *Model) Done() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var left []string
	for _, session := range slices.Sorted(maps.Keys(m.places)) {
		p := m.places[session]
		if p.next == len(m.script.steps) {
			continue
		}
		of := ""
		if session != "" {
			of = " in session " + session
		}
		left = append(left, fmt.Sprintf("stopped before %s%s", m.script.describe(p.next), of))
	}
	if len(m.places) == 0 {
		left = append(left, "was never asked: "+m.script.describe(0)+" is the first")
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("scripted: script %s %s", m.script.name, strings.Join(left, "; "))
}
