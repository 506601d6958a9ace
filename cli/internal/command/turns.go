package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func (s *shell) turns() *cli.Command {
	return &cli.Command{
		Name: "turns", Usage: "what single turns did", Action: group,
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the turns of all sessions, newest first", Flags: listFlags(20), Action: s.listTurns},
			{Name: "show", Usage: "show one turn with its effects, as they are kept", ArgsUsage: "TURN", Action: s.showTurn},
			{Name: "cancel", Usage: "ask the process that runs a turn to end it", ArgsUsage: "TURN", Action: s.cancelTurn},
		},
	}
}

// turnAnswer is a turn in a document.
type turnAnswer struct {
	ID       id.Turn    `json:"id"`
	Session  id.Session `json:"session"`
	Core     string     `json:"core"`
	Revision string     `json:"revision"`
	State    turn.State `json:"state"`
	Reason   string     `json:"reason,omitempty"`
	Sentence string     `json:"sentence,omitempty"`
	Input    string     `json:"input"`
	Reply    string     `json:"reply,omitempty"`
	Steps    int        `json:"steps"`
	Usage    usageOf    `json:"usage"`
	Started  *string    `json:"started"`
	Finished *string    `json:"finished,omitempty"`
}

// usageOf is what the models said a turn cost, in tokens.
type usageOf struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

func turnOf(t turn.Record) turnAnswer {
	return turnAnswer{
		ID: t.ID, Session: t.Session, Core: t.Core, Revision: t.Revision, State: t.State, Reason: t.Reason,
		Input: t.Input, Reply: t.Reply, Steps: t.Steps, Usage: usageOf(t.Usage), Started: moment(t.Started), Finished: moment(t.Finished),
	}
}

// effectAnswer is a stored effect in a document.
type effectAnswer struct {
	ID        id.Effect       `json:"id"`
	Tool      string          `json:"tool"`
	Plugin    string          `json:"plugin,omitempty"`
	Status    effect.Status   `json:"status"`
	Started   bool            `json:"started"`
	Reason    string          `json:"reason,omitempty"`
	Recovery  string          `json:"recovery,omitempty"`
	Approval  id.Approval     `json:"approval,omitempty"`
	Digest    string          `json:"arguments_sha256,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Durable   json.RawMessage `json:"durable,omitempty"`
	StartedAt *string         `json:"started_at,omitempty"`
	Duration  float64         `json:"duration_ms"`

	Resolution *resolutionAnswer `json:"resolution,omitempty"` // of an indeterminate one
}

func effectOf(e effect.Record) effectAnswer {
	return effectAnswer{
		ID: e.ID, Tool: e.Tool, Plugin: e.Plugin, Status: e.Status, Started: e.Started, Reason: e.Reason, Recovery: e.Recovery,
		Approval: e.Approval, Digest: e.Digest, Arguments: document(e.Arguments), Durable: document(e.Durable),
		StartedAt: moment(e.StartedAt), Duration: milliseconds(e.Duration), Resolution: resolutionOf(e.Resolution),
	}
}

func (s *shell) listTurns(c *cli.Context) error {
	return listing[turn.Record]{
		name: "turns", most: 500, none: "no turns yet; `portcullis chat` starts one",
		find: func(ctx context.Context, r *app.Records, skip, n int) ([]turn.Record, error) {
			return r.Store.Turns(ctx, r.By, "", skip, n)
		},
		answer: func(f turn.Record) any { return turnOf(f) },
		head:   []string{"turn", "outcome", "started", "took", "core", "input"},
		row: func(f turn.Record) []any {
			return []any{f.ID, stateStyle(f.State), stamp(f.Started), lasted(f), f.Core, console.Cut(f.Input, 50)}
		},
	}.show(s, c)
}

// lasted is how long a turn took; nothing while it runs.
func lasted(t turn.Record) string {
	if t.Finished.IsZero() {
		return ""
	}
	return took(t.Finished.Sub(t.Started))
}

func (s *shell) showTurn(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseTurn(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		found, ok, err := r.Store.Turn(ctx, r.By, name)
		if err != nil {
			return err
		}
		if !ok {
			return notFound("turn", name, "portcullis turns list")
		}
		effects, err := r.Store.Effects(ctx, r.By, name)
		if err != nil {
			return err
		}
		children, err := r.Store.Children(ctx, r.By, name, maxShownChildren)
		if err != nil {
			return err
		}
		agents := childrenOf(found, effects, children)
		session, _, err := r.Store.Session(ctx, r.By, found.Session)
		if err != nil {
			return err
		}
		next := nextAfter(found, effects, session, r.By.PrincipalID())
		answer := struct {
			turnAnswer
			Effects []effectAnswer `json:"effects"`
			Left    []string       `json:"left,omitempty"` // what a turn that nobody finished left behind, in words
			Next    []string       `json:"next,omitempty"` // what to type
			Agents  []childAnswer  `json:"children,omitempty"`
		}{turnOf(found), []effectAnswer{}, s.typed(whatWasLeft(found, effects, agents)), s.typed(next), agents}
		for _, e := range effects {
			answer.Effects = append(answer.Effects, effectOf(e))
		}
		if answer.Sentence, err = endedBecause(ctx, r, found); err != nil {
			return err
		}
		return s.out.Answer(answer, func(t *console.Text) {
			sayTurn(t, found, answer.Sentence, effects)
			sayChildren(t, answer.Agents)
			sayLeft(t, answer.Left, next)
		})
	})
}

func sayTurn(t *console.Text, found turn.Record, why string, effects []effect.Record) {
	t.Say("%s  %s  core %s, session %s", console.Bold(string(found.ID)), stateStyle(found.State), found.Core, found.Session)
	t.Say("started %s, %s", stamp(found.Started), spentWords(found))
	if found.Reason != "" {
		t.Say("reason  %s: %s", console.Bad(found.Reason), why)
	}
	t.Say("input")
	t.Prose("  ", found.Input)
	if len(effects) > 1 {
		t.Say("effects %s", countWords(effects))
	}
	for i, e := range effects {
		t.Say("effect %d  %s  %s  %s  %s", i+1, console.Bold(e.Tool), statusStyle(statusWord(e)), took(e.Duration), e.ID)
		sayKept(t, e)
	}
	if found.Reply != "" {
		t.Say("reply")
		t.Prose("  ", found.Reply)
	}
}

// spentWords is what a turn's model was asked and said that it cost. Of a turn that nobody finished it is what was on record.
func spentWords(t turn.Record) string {
	least := ""
	switch {
	case t.State == turn.Running:
		return "its model calls and tokens are counted when it ends"
	case interrupted(t) && t.Steps == 0:
		return "no model call counted"
	case interrupted(t):
		least = "at least "
	}
	calls := "model calls"
	if t.Steps == 1 {
		calls = "model call"
	}
	return fmt.Sprintf("%s%d %s, %d tokens in, %d out", least, t.Steps, calls, t.Usage.Input, t.Usage.Output)
}

// countWords is how many effects ended in which way, in the order those ways came up.
func countWords(effects []effect.Record) string {
	var order []string
	n := map[string]int{}
	for _, e := range effects {
		word := string(statusWord(e))
		if n[word]++; n[word] == 1 {
			order = append(order, word)
		}
	}
	for i, word := range order {
		order[i] = fmt.Sprintf("%d %s", n[word], word)
	}
	return strings.Join(order, ", ")
}

// shownBytes bounds what a listing shows of one document; --json shows all of it.
const shownBytes = 600

// statusStyle colours an effect's status.
func statusStyle(s effect.Status) console.Styled {
	switch s {
	case effect.Succeeded:
		return console.Good(string(s))
	case effect.Denied, effect.NotFound, effect.Invalid, effect.Cancelled:
		return console.Warn(string(s))
	}
	return console.Bad(string(s))
}
