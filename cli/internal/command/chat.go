package command

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func (s *shell) chat() *cli.Command {
	return &cli.Command{
		Name: "chat", Usage: "talk to an agent, line by line",
		Description: "Each line is one turn. Ctrl-C cancels the turn that runs; at the prompt, twice, it leaves. Calls that a\n" +
			"person must allow are asked about in place on a terminal, and denied on a pipe.\n\n" +
			"   /help     what can be typed\n   /session  the session, to come back to it with --session\n   /quit     leave; so does the end of the input",
		Flags: turnFlags(),
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			if s.out.JSON() {
				p := usage("portcullis chat has no --json form")
				p.Remedy = "use `portcullis run --json`, one turn at a time, with --session"
				return p
			}
			req, err := s.turnRequest(c)
			if err != nil {
				return err
			}
			a, err := s.approving(c)
			if err != nil {
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
				talk := &conversation{shell: s, host: h.Host, req: req, lines: lines, show: show}
				return talk.loop(ctx)
			}, func(o *app.HostOptions) { o.Work = true })
		},
	}
}

// conversation is one chat under way.
type conversation struct {
	*shell
	host  *host.Host
	req   host.Request
	lines *console.Lines
	show  *screen
	worst error // nil until a turn did not do what it was asked
}

// loop takes lines until the input ends or the person leaves. On a pipe the exit code tells whether every turn was
// answered.
func (c *conversation) loop(ctx context.Context) error {
	if c.proc.Interactive() {
		c.show.notes.Say("%s", console.Dim("portcullis chat; /help shows what can be typed, /quit leaves"))
	}
	for interrupted := false; ; {
		line, err := c.read(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return c.leave()
		case errors.Is(err, console.ErrInterrupted):
			c.show.notes.Say("")
			if interrupted || ctx.Err() != nil {
				return c.leave()
			}
			interrupted = true
			c.show.notes.Say("%s", console.Dim("Ctrl-C again, or /quit, leaves"))
			continue
		case errors.Is(err, console.ErrLineTooLong):
			c.show.notes.Say("%s %s; put it into a file of the workspace", console.Bad("not sent:"), err)
			continue
		case err != nil:
			return err
		}
		interrupted = false
		switch text := strings.TrimSpace(line); {
		case text == "":
		case text == "/quit":
			return c.leave()
		case strings.HasPrefix(text, "/"):
			c.command(text)
		default:
			if err := c.turn(ctx, line); err != nil {
				return err
			}
		}
	}
}

func (c *conversation) leave() error {
	if c.proc.Interactive() {
		return nil
	}
	return c.worst
}

// read shows the prompt and takes one line. Ctrl-C gives up the wait, not the program.
func (c *conversation) read(ctx context.Context) (string, error) {
	ctx, end := c.interrupts.Scope(ctx)
	defer end()
	if c.proc.Interactive() {
		c.show.notes.Part("%s ", console.Bold("you>"))
	}
	return c.lines.Next(ctx)
}

// turn runs one turn; Ctrl-C cancels it alone. A turn that was refused is shown and the chat goes on; only a failure
// of the host's own ends it.
func (c *conversation) turn(ctx context.Context, line string) error {
	ctx, end := c.interrupts.Scope(ctx)
	defer end()
	c.req.Input = line
	c.show.spoke = false
	r, err := finished(c.host.Run(ctx, c.req, c.show.observer()))
	var refused *turn.RejectedError
	switch {
	case errors.As(err, &refused):
		c.worst = no{}
		c.show.line()
		return c.out.Fail(c.placed(problemOf(ctx, c.why(ctx, c.host, c.req.Core, err))))
	case err != nil:
		return err
	}
	sayOutcome(c.show, r)
	if v := verdictOf(r.Outcome()); v != nil {
		c.worst = v
	}
	c.req.Session = turn.Selector{Kind: turn.Resume, Session: r.Session()}
	return nil
}

// command answers a line that begins with a slash.
func (c *conversation) command(text string) {
	t := c.show.notes
	switch text {
	case "/help":
		t.Say("type a line to send it; Ctrl-C cancels the turn that runs")
		t.Say("/session  the session, to come back to it with --session")
		t.Say("/quit     leave; so does the end of the input (Ctrl-D)")
	case "/session":
		if c.req.Session.Session == "" {
			t.Say("no turn has run yet, so there is no session")
			return
		}
		t.Say("session %s", c.req.Session.Session)
		t.Say("come back with `portcullis chat --session %s`", c.req.Session.Session)
	default:
		t.Say("there is no %s; /help shows what can be typed", console.Cut(text, 40))
	}
}
