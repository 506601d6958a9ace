package command

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
)

func (s *shell) effects() *cli.Command {
	return &cli.Command{
		Name: "effects", Usage: "calls of which nobody knows whether they happened", Action: group,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list effects whose end nobody saw, those that ended last first", Action: s.listEffects,
				Flags: listFlags(20, &cli.BoolFlag{Name: "open", Usage: "only those about which nothing is settled"}),
			},
			{Name: "show", Usage: "show one effect whole, and what to do about it", ArgsUsage: "EFFECT", Action: s.showEffect},
			{
				Name: "resolve", Usage: "settle, for the record, whether an uncertain effect happened; it is not run again", ArgsUsage: "EFFECT",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "reconcile", Usage: "ask the plugin that ran it, which only looks"},
					&cli.StringFlag{Name: "as", Usage: "what you found, as `VERDICT`: happened or not-happened"},
					&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the record: how you know"},
				},
				Action: s.resolveEffect,
			},
		},
	}
}

// resolutionAnswer is what is settled about an effect, in a document.
type resolutionAnswer struct {
	Verdict effect.Verdict `json:"verdict"`
	Reason  string         `json:"reason"`
	By      string         `json:"by,omitempty"` // absent when the tool's recovery settled it
	At      *string        `json:"at"`

	Reference string `json:"reference,omitempty"` // where the plugin says that it can be looked at
}

func resolutionOf(r effect.Resolution) *resolutionAnswer {
	if r.Verdict == "" {
		return nil
	}
	return &resolutionAnswer{Verdict: r.Verdict, Reason: r.Reason, By: r.By, At: moment(r.At), Reference: r.Reference}
}

// placedEffect is an effect in a document that does not show its turn.
type placedEffect struct {
	effectAnswer
	Turn    id.Turn    `json:"turn"`
	Session id.Session `json:"session"`
	Next    []string   `json:"next,omitempty"` // what to type
}

func (s *shell) foundEffect(e effect.Record) placedEffect {
	return placedEffect{effectOf(e), e.Turn, e.Session, s.typed(nextOf(e))}
}

func (s *shell) listEffects(c *cli.Context) error {
	return listing[effect.Record]{
		name: "effects", most: 500, none: "no effect waits to be settled; `portcullis turns show TURN` shows the effects of a turn",
		find: func(ctx context.Context, r *app.Records, skip, n int) ([]effect.Record, error) {
			return r.Store.Uncertain(ctx, r.By, c.Bool("open"), skip, n)
		},
		answer: func(e effect.Record) any { return s.foundEffect(e) },
		head:   []string{"effect", "tool", "started", "settled", "arguments"},
		row: func(e effect.Record) []any {
			return []any{e.ID, e.Tool, stamp(e.StartedAt), settledAs(e.Resolution), console.Cut(string(e.Arguments), 40)}
		},
	}.show(s, c)
}

func (s *shell) showEffect(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseEffect(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		e, ok, err := r.Store.Effect(ctx, r.By, name)
		if err != nil {
			return err
		}
		if !ok {
			return notFound("effect", name, "portcullis effects list")
		}
		return s.out.Answer(s.foundEffect(e), func(t *console.Text) {
			t.Say("%s  %s  %s", console.Bold(string(e.ID)), e.Tool, statusStyle(e.Status))
			t.Say("  turn      %s, session %s", e.Turn, e.Session)
			if e.Started {
				t.Say("  started   %s, recovery %s", stamp(e.StartedAt), e.Recovery)
			}
			sayKept(t, e)
			for _, line := range nextOf(e) {
				t.Say("  type      %s", console.Command(line))
			}
		})
	})
}

// verdicts are the answers of --as.
func verdicts() map[string]effect.Verdict {
	return map[string]effect.Verdict{"happened": effect.Happened, "not-happened": effect.NotHappened}
}

// resolveEffect records the operator's word about one effect, by its id alone.
func (s *shell) resolveEffect(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseEffect(args[0])
	if err != nil {
		return err
	}
	if c.Bool("reconcile") {
		return s.reconcileEffect(c, name)
	}
	as, ok := verdicts()[c.String("as")]
	if !ok {
		p := usage("%s needs --as happened or --as not-happened", c.Command.HelpName)
		p.Remedy = fmt.Sprintf("look at what %s would have changed, then type `portcullis effects resolve %s --as happened --reason TEXT`", name, name)
		return p
	}
	reason := c.String("reason")
	if n := utf8.RuneCountInString(reason); n < 1 || n > effect.MaxResolveReason {
		p := usage("%s needs a --reason of 1 to %d characters", c.Command.HelpName, effect.MaxResolveReason)
		p.Remedy = fmt.Sprintf("type `portcullis effects resolve %s --as %s --reason TEXT`; the audit keeps it", name, c.String("as"))
		return p
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		e, how, err := r.ResolveEffect(ctx, name, as, reason)
		if err != nil {
			return err
		}
		if how == effect.SettledBefore && e.Resolution.Verdict != as {
			return &console.Problem{
				Code: "already_resolved", Exit: console.ExitNo, Message: fmt.Sprintf("effect %s is settled already: %s", name, settledWords(e.Resolution)),
				Remedy: "the first word stands; `portcullis effects show " + string(name) + "` shows it",
			}
		}
		if err := notToSettle(name, e, how); err != nil {
			return err
		}
		return s.out.Answer(s.foundEffect(e), func(t *console.Text) {
			if how == effect.SettledBefore {
				t.Say("%s is settled already: %s; nothing changed", e.ID, settledWords(e.Resolution))
				return
			}
			t.Say("%s %s %s; turn %s stays as it ended, and nothing ran", console.Good("settled:"), e.Tool, settledAs(e.Resolution), e.Turn)
		})
	})
}

// notToSettle is the refusal of an effect that cannot be settled, or nil.
func notToSettle(name id.Effect, e effect.Record, how effect.Settling) error {
	switch how {
	case effect.EffectNotFound:
		return notFound("effect", name, "portcullis effects list")
	case effect.NotUncertain:
		return &console.Problem{
			Code: "not_uncertain", Exit: console.ExitNo, Message: fmt.Sprintf("effect %s is not uncertain (%s), so there is nothing to settle", name, statusWord(e)),
			Remedy: "`portcullis effects list --open` shows those that wait",
		}
	}
	return nil
}
