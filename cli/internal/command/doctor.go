package command

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/cli/internal/doctor"
)

func (s *shell) doctor() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check the home and say how to mend what is wrong; changes nothing",
		Description: "Exit code 0: nothing is wrong (warnings may stand). 1: a check failed. 2: there is no home to look at.",
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			home, err := s.home()
			if err != nil {
				return err
			}
			found := doctor.Examine(c.Context, home, doctor.Machine{Env: s.proc.Env, Cache: home.Cache(s.proc.Env)})
			if err := c.Context.Err(); err != nil {
				return err // what was not looked at is no fault
			}
			for i := range found {
				found[i].Message = s.out.Typed(found[i].Message)
				found[i].Remedy = s.out.Typed(found[i].Remedy)
			}
			answer := struct {
				Home     string           `json:"home"`
				Worst    doctor.Level     `json:"worst"`
				Findings []doctor.Finding `json:"findings"`
			}{home.Path, doctor.Worst(found), found}
			if err := s.out.Answer(answer, func(t *console.Text) { sayFindings(t, found) }); err != nil {
				return err
			}
			switch {
			case answer.Worst != doctor.Error:
				return nil
			case found[len(found)-1].Code == "home.folder":
				return noHome{}
			}
			return no{}
		},
	}
}

// noHome is the error of an answer that was printed and says that there is nothing to look at.
type noHome struct{}

// Error is never shown: the answer was printed.
func (noHome) Error() string { return "there is no home" }

func sayFindings(t *console.Text, found []doctor.Finding) {
	for _, f := range found {
		mark := console.Good("ok   ")
		switch f.Level {
		case doctor.Warn:
			mark = console.Warn("warn ")
		case doctor.Error:
			mark = console.Bad("error")
		}
		message, more, _ := strings.Cut(f.Message, "\n")
		t.Say("%s %-15s %s", mark, f.Code, message)
		if more != "" {
			t.Prose("      ", more)
		}
		if f.Remedy != "" {
			t.Say("      to mend: %s", console.Command(f.Remedy))
		}
	}
}
