package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
)

// reconcileEffect has the plugin that ran an uncertain effect say what became of it. It takes the home's lock, because the
// plugin runs.
func (s *shell) reconcileEffect(c *cli.Context, name id.Effect) error {
	if c.IsSet("as") || c.IsSet("reason") {
		p := usage("%s takes --reconcile, or --as and --reason", c.Command.HelpName)
		p.Remedy = fmt.Sprintf("type `portcullis effects resolve %s --reconcile`", name)
		return p
	}
	return s.opened(c, approving{}, nil, nil, func(ctx context.Context, h *app.Running) error {
		by, err := h.Operator(ctx, c.Command.HelpName)
		if err != nil {
			return err
		}
		e, got, how, err := h.Reconcile(ctx, by, name)
		if err != nil {
			return err
		}
		if err := notToSettle(name, e, how); err != nil {
			return err
		}
		if how == effect.Settled && got.Answer == effect.AnswerUnknown {
			return &console.Problem{
				Code: "still_uncertain", Exit: console.ExitNo,
				Message: fmt.Sprintf("effect %s stays uncertain (%s): %s", name, got.Reason, got.Sentence),
				Remedy:  fmt.Sprintf("look at what it would have changed, then type `portcullis effects resolve %s --as happened --reason TEXT`", name),
			}
		}
		return s.out.Answer(s.foundEffect(e), func(t *console.Text) {
			if got.Before {
				t.Say("%s was settled while its plugin was asked: %s; the first word stands", e.ID, settledWords(e.Resolution))
				return
			}
			if how == effect.SettledBefore {
				t.Say("%s is settled already: %s; nobody was asked", e.ID, settledWords(e.Resolution))
				return
			}
			t.Say("%s %s; turn %s stays as it ended, and nothing was run again", console.Good("settled:"), settledWords(e.Resolution), e.Turn)
		})
	})
}
