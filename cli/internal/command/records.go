package command

import (
	"context"
	"encoding/json"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
)

// home is the home that the flags and the environment name.
func (s *shell) home() (app.Home, error) {
	return app.FindHome(s.flags.home, s.proc.Env, s.proc.Dir)
}

// records runs do with the home's records open, for commands that run no effect. The audit notes which command asked.
func (s *shell) records(c *cli.Context, do func(ctx context.Context, r *app.Records) error) (err error) {
	home, err := s.home()
	if err != nil {
		return err
	}
	r, err := home.OpenRecords(c.Context, c.Command.HelpName)
	if err != nil {
		return err
	}
	defer closing(&err, r.Close)
	return do(c.Context, r)
}

// stamp is a time for people: local, to the second; empty when there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// moment is a time in a document: UTC to the millisecond; nil, and so absent, when there is none.
func moment(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format("2006-01-02T15:04:05.000Z")
	return &text
}

// took is a duration for people.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// milliseconds is a duration in a document.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// document is stored JSON as it goes into an answer: nil when there is none or, which stores exclude, when it is not
// JSON.
func document(raw []byte) json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	return raw
}

// typed are command lines as they must be typed to act on this home.
func (s *shell) typed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = s.out.Typed(l)
	}
	return out
}
