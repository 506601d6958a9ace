package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func (s *shell) run() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run one turn and print the reply", ArgsUsage: "[WORDS...]",
		Description: "The input is WORDS, or standard input when there are none.",
		Flags:       turnFlags(),
		Action: func(c *cli.Context) error {
			req, err := s.turnRequest(c)
			if err != nil {
				return err
			}
			a, err := s.approving(c)
			if err != nil {
				return err
			}
			if req.Input, err = s.input(c); err != nil {
				return err
			}
			lines := console.NewLines(s.proc.In)
			defer lines.Close()
			show := &screen{words: s.out.Out(), notes: s.out.Err()}
			prompter := &asker{lines: lines, text: s.out.Err(), begin: show.line}
			return s.opened(c, a, prompter, show, func(ctx context.Context, h *app.Running) error {
				if err := knownModel(ctx, h.Host, req); err != nil {
					return err
				}
				observer := turn.Observer{}
				if !s.out.JSON() {
					observer = show.observer()
				}
				r, err := finished(h.Run(ctx, req, observer))
				if err != nil {
					return s.why(ctx, h.Host, req.Core, err)
				}
				if err := s.out.Answer(answerOf(r), func(*console.Text) { sayOutcome(show, r) }); err != nil {
					return err
				}
				return verdictOf(r.Outcome())
			})
		},
	}
}

// input is what the turn is about: the operands, or standard input when it is not a keyboard.
func (s *shell) input(c *cli.Context) (string, error) {
	if c.Args().Present() {
		return strings.Join(c.Args().Slice(), " "), nil
	}
	if s.proc.Interactive() {
		p := usage("portcullis run needs WORDS, or input on a pipe")
		p.Remedy = "type `portcullis run 'what time is it?'`, or `portcullis chat` for a conversation"
		return "", p
	}
	data, err := io.ReadAll(io.LimitReader(s.proc.In, turn.MaxInputBytes+1))
	if err != nil {
		return "", fmt.Errorf("command: read standard input: %w", err)
	}
	if len(data) > turn.MaxInputBytes {
		p := usage("standard input has more than %d bytes", turn.MaxInputBytes)
		p.Code, p.Remedy = "input_too_large", "put it into a file of the workspace and ask about the file"
		return "", p
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
