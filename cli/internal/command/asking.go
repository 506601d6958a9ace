package command

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
)

// approveFlag says what becomes of calls that a person must allow.
func approveFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "approve", DefaultText: "ask on a terminal, else deny",
		Usage: "calls that a person must allow: `HOW` is ask, deny, or wait=5m for `portcullis approvals allow` elsewhere",
	}
}

// approving is --approve, read.
type approving struct {
	ask  bool
	wait time.Duration
}

func (s *shell) approving(c *cli.Context) (approving, error) {
	how := c.String("approve")
	switch wait, isWait := strings.CutPrefix(how, "wait="); {
	case how == "":
		return approving{ask: s.proc.Interactive()}, nil
	case how == "deny":
		return approving{}, nil
	case how == "ask" && s.proc.Interactive():
		return approving{ask: true}, nil
	case how == "ask":
		p := usage("--approve ask needs a terminal, and there is none")
		p.Remedy = "write --approve=wait=5m and answer with `portcullis approvals allow ID` in another terminal"
		return approving{}, p
	case isWait:
		if d, err := time.ParseDuration(wait); err == nil && d > 0 {
			return approving{wait: d}, nil
		}
	}
	p := usage("--approve %q is not ask, deny or wait=DURATION", console.Cut(how, 40))
	p.Remedy = "write --approve=wait=5m"
	return approving{}, p
}

// notice says what is waited for, and what to type elsewhere to answer.
type notice struct {
	text *console.Text
	show *screen // makes room; may be nil
}

// Deliver shows the question whole. See [approval.Courier].
func (n notice) Deliver(_ context.Context, q approval.Question) error {
	if n.show != nil {
		n.show.line()
	}
	sayQuestion(n.text, q)
	sayHowToDecide(n.text, q)
	return nil
}

// asker puts questions to the person at the terminal.
type asker struct {
	lines *console.Lines
	text  *console.Text
	begin func() // makes room on the screen; may be nil
}

// tries is how often an answer that is none is asked again before it counts as no.
const tries = 3

// Prompt shows the whole question and reads one answer. What was typed before the question does not count, and the end
// of the input is no. See [approval.Prompter].
func (a *asker) Prompt(ctx context.Context, q approval.Question) (approval.Answer, error) {
	if a.begin != nil {
		a.begin()
	}
	sayQuestion(a.text, q)
	keys := "[a/d]>"
	a.text.Say("  a        allow this call, this once")
	if q.Cacheable {
		keys = "[a/s/d]>"
		a.text.Say("  s        until this session ends, allow %s", covers(q))
	}
	a.text.Say("  d        deny")
	denied := approval.Answer{State: approval.Denied, By: authority.OperatorID, Reason: approval.ReasonDenied}
	for range tries {
		a.lines.Drain()
		a.text.Part("answer %s ", console.Bold(keys))
		line, err := a.lines.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			a.text.Say("")
			return denied, nil
		case err != nil && !errors.Is(err, console.ErrLineTooLong):
			return approval.Answer{}, err
		}
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case answer == "a" || answer == "allow" || answer == "y" || answer == "yes":
			return approval.Answer{State: approval.Allowed, Reach: approval.Once, By: authority.OperatorID}, nil
		case (answer == "s" || answer == "session") && q.Cacheable:
			return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: authority.OperatorID}, nil
		case answer == "d" || answer == "deny" || answer == "n" || answer == "no":
			return denied, nil
		}
		a.text.Say("that is not one of the answers")
	}
	a.text.Say("denied: none of %d answers was one", tries)
	return denied, nil
}
