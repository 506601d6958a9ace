package command

import (
	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// verifyAnswer is a verified audit in a document.
type verifyAnswer struct {
	Database string   `json:"database"`
	Sound    bool     `json:"sound"`
	Records  int64    `json:"records"` // that the chain covers
	Before   int64    `json:"records_before_the_chain"`
	Head     string   `json:"head,omitempty"`
	Faults   []string `json:"faults"`
}

func (s *shell) verifyAudit(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	r, err := app.VerifyAudit(c.Context, home, c.StringSlice("head"))
	if err != nil {
		return err
	}
	a := verifyAnswer{Database: r.Database, Sound: len(r.Faults) == 0, Records: r.Records, Before: r.Before, Faults: append([]string{}, r.Faults...)}
	if r.Records > 0 {
		a.Head = r.Head.String()
	}
	err = s.out.Answer(a, func(t *console.Text) {
		t.Say("%s  %d records in the chain", a.Database, a.Records)
		if a.Before > 0 {
			t.Say("%d older records are from before there was a chain: nothing holds them", a.Before)
		}
		for _, f := range a.Faults {
			t.Say("%s %s", console.Bad("fault:"), f)
		}
		if !a.Sound {
			t.Say("somebody or something changed the audit: keep this database, and compare with a backup: %s", backupsOf(a.Database))
			return
		}
		t.Say("%s", console.Good("sound"))
		if a.Head != "" {
			t.Say("head %s: note it elsewhere, and `portcullis audit verify --head HEAD` holds the audit to it", a.Head)
		}
	})
	if err == nil && !a.Sound {
		err = no{}
	}
	return err
}
