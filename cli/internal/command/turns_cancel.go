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

// cancelTurn notes that a turn shall end. The process that runs it reads that and ends it; nothing is ended here.
func (s *shell) cancelTurn(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseTurn(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		found, how, err := r.CancelTurn(ctx, name)
		if err != nil {
			return err
		}
		switch how {
		case turn.CancelNoTurn:
			return notFound("turn", name, "portcullis turns list")
		case turn.CancelEnded:
			return &console.Problem{
				Code: "turn_ended", Exit: console.ExitNo, Message: fmt.Sprintf("turn %s has ended already (%s), so there is nothing to cancel", name, found.State),
				Remedy: "`portcullis turns show " + string(name) + "` shows it",
			}
		}
		running, err := s.waits()
		if err != nil {
			return err
		}
		answer := struct {
			Turn    id.Turn         `json:"turn"`
			Request turn.Cancelling `json:"request"`
			Running bool            `json:"running"` // a process holds the home; otherwise the next one ends the turn
		}{name, how, running}
		return s.out.Answer(answer, func(t *console.Text) {
			switch {
			case !running:
				t.Say("the process that ran %s is gone: the next command that runs turns ends it, as lost or indeterminate", name)
			case how == turn.CancelNotedBefore:
				t.Say("%s was asked to end before; `portcullis turns show %s` says whether it did", name, name)
			default:
				t.Say("asked: %s ends within %s, or as soon as what it runs is cleaned up; `portcullis turns show %s` says how", name, turn.CancelPoll, name)
			}
		})
	})
}
