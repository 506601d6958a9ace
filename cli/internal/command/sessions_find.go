package command

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// findingAnswer is one turn that a search found.
type findingAnswer struct {
	Session id.Session `json:"session"`
	Turn    id.Turn    `json:"turn"`
	Started *string    `json:"started"`
	In      string     `json:"in"` // "input" or "reply"
	Excerpt string     `json:"excerpt"`
}

func (s *shell) searchSessions(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	text := args[0]
	if strings.TrimSpace(text) == "" || len(text) > turn.MaxSearchText || !utf8.ValidString(text) {
		p := usage("the text to look for must be 1 to %d bytes, and not only white space", turn.MaxSearchText)
		p.Remedy = "type `portcullis sessions search TEXT`"
		return p
	}
	n, err := limit(c, turn.MaxFindings)
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		found, err := r.Store.Search(ctx, r.By, turn.SearchQuery{Text: text, Limit: n})
		if err != nil {
			return err
		}
		answer := struct {
			Turns []findingAnswer `json:"turns"`
			Whole bool            `json:"whole"` // false: older turns may hold the text too
		}{[]findingAnswer{}, found.Whole}
		var rows [][]any
		for _, f := range found.Turns {
			answer.Turns = append(answer.Turns, findingAnswer{f.Session, f.Turn, moment(f.Started), f.In, f.Excerpt})
			rows = append(rows, []any{f.Session, f.Turn, stamp(f.Started), f.In, console.Cut(f.Excerpt, 80)})
		}
		return s.out.Answer(answer, func(t *console.Text) {
			if len(rows) == 0 {
				t.Say("no turn holds that text")
			} else {
				t.Table([]string{"session", "turn", "started", "in", "text"}, rows)
			}
			if !found.Whole {
				s.out.Err().Say("%s", console.Dim("older turns were not looked at; --limit shows more"))
			}
		})
	})
}

func (s *shell) repairSession(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	q := turn.LegacyQuery{Reason: strings.TrimSpace(c.String("reason"))}
	if strings.HasPrefix(args[0], "trn_") {
		q.Turn, err = id.ParseTurn(args[0])
	} else {
		q.Session, err = id.ParseSession(args[0])
	}
	if err != nil {
		return err
	}
	if n := utf8.RuneCountInString(q.Reason); n < 1 || n > turn.MaxRepairReason {
		p := usage("%s needs a --reason of 1 to %d characters", c.Command.HelpName, turn.MaxRepairReason)
		p.Remedy = "type `portcullis sessions repair " + args[0] + " --reason WHY`; the audit keeps it"
		return p
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		q.Reason = r.Hide(ctx, q.Reason, turn.MaxRepairReason)
		found, ok, err := r.Store.Legacy(ctx, r.By, q)
		if err != nil {
			return err
		}
		if !ok {
			return &console.Problem{
				Code: "nothing_to_repair", Exit: console.ExitNo, Message: args[0] + " is not a session without a certain owner, nor a turn of one",
				Remedy: "`portcullis sessions list` shows those that have one; `portcullis audit --kind=principal_scope.owner_lookup_denied` says what was looked for",
			}
		}
		answer := struct {
			sessionAnswer
			Why  string       `json:"why"`
			List []turnAnswer `json:"turn_list"`
		}{sessionOf(found.Session), found.Why, []turnAnswer{}}
		var rows [][]any
		for _, f := range found.Turns {
			answer.List = append(answer.List, turnOf(f))
			rows = append(rows, []any{f.ID, stateStyle(f.State), stamp(f.Started), f.Steps, console.Cut(f.Input, 50)})
		}
		return s.out.Answer(answer, func(t *console.Text) {
			t.Say("%s  core %s, begun %s", console.Bold(string(answer.ID)), answer.Core, stamp(found.Session.Created))
			t.Say("%s %s", console.Warn("no certain owner:"), reasonWords(found.Why))
			if answer.Principal != "" {
				t.Say("its owner row names %s", answer.Principal)
			}
			t.Table([]string{"turn", "outcome", "started", "steps", "input"}, rows)
		})
	})
}
