package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// endSession ends a session in the store. A process that runs a turn in it reads that and ends the turn.
func (s *shell) endSession(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseSession(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		how, err := r.EndSession(ctx, name, c.String("reason"))
		if err != nil {
			return err
		}
		switch how {
		case turn.EndNoSession:
			return notFound("session", name, "portcullis sessions list")
		case turn.EndedBefore:
			return &console.Problem{
				Code: "session_ended", Exit: console.ExitNo, Message: fmt.Sprintf("session %s was ended before; nothing changed", name),
				Remedy: "`portcullis sessions show " + string(name) + "` shows it",
			}
		}
		answer := struct {
			Session id.Session  `json:"session"`
			Done    turn.Ending `json:"done"`
		}{name, how}
		return s.out.Answer(answer, func(t *console.Text) {
			t.Say("%s %s; what was allowed for it is revoked, and a turn that runs in it ends within %s", console.Good("ended:"), name, turn.CancelPoll)
		})
	})
}
