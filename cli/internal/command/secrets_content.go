package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// secretContent is what the flags and standard input say a secret is. A value is read last, when all else is right.
func (s *shell) secretContent(c *cli.Context, name secret.Name) (secret.Content, error) {
	var content secret.Content
	var err error
	if text := c.String("expires"); text != "" {
		if content.Expires, err = expiry(text, time.Now()); err != nil {
			return content, err
		}
	}
	if c.IsSet("from") {
		ref, ok := secret.ParseRef(c.String("from"))
		if !ok || ref.Source == secret.FromVault {
			p := usage("--from must say where the value is and not what it is") // what stands there may be the value
			p.Code, p.Remedy = "bad_secret_place", "write --from env:NAME or --from file:PATH, or leave it and give the value on standard input"
			return content, p
		}
		content.From = ref
		return content, nil
	}
	value, err := s.proc.Hidden(c.Context, fmt.Sprintf("value of %s (not shown): ", name), redact.MaxValue)
	if errors.Is(err, console.ErrTooLong) {
		p := usage("the value of %s is longer than %d bytes", name, redact.MaxValue)
		p.Code, p.Remedy = "secret_too_long", "keep it in a file of mode 0600 and name that with --from file:PATH"
		return content, p
	}
	content.Value = strings.TrimRight(string(value), "\r\n")
	if err == nil && content.Value == "" {
		p := usage("no value was given")
		p.Code, p.Remedy = "no_value", "give it on standard input, or say where it is with --from env:NAME or --from file:PATH"
		return content, p
	}
	return content, err
}

// expiry reads a date, which is its first moment in UTC, or a duration from now.
func expiry(text string, now time.Time) (time.Time, error) {
	p := usage("%q is neither a date nor a duration", console.Cut(text, 40))
	p.Code, p.Remedy = "bad_expiry", "write --expires "+now.AddDate(1, 0, 0).Format(time.DateOnly)+" or --expires 720h"
	until, err := time.Parse(time.DateOnly, text)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, p
		}
		until = now.Add(d)
	}
	if !now.Before(until) {
		p.Message, p.Remedy = "--expires "+console.Cut(text, 40)+" has passed", "give a later --expires: "+strings.TrimPrefix(p.Remedy, "write ")
		return time.Time{}, p
	}
	return until, nil
}

func secretProblem(err error) *console.Problem {
	var name *secret.NameError
	var file *secret.FileError
	var weak *redact.RefusedError
	var ring *secret.KeyringError
	switch {
	case errors.As(err, &ring):
		return &console.Problem{Code: "keyring", Message: ring.Error(), Exit: console.ExitUsage, Remedy: "write `secrets: {identity: file}` in config.yaml, or unlock the keyring and type the command again"}
	case errors.As(err, &name):
		p := usage("%v", name)
		p.Code, p.Remedy = "bad_secret_name", "choose a name such as MAIL_TOKEN"
		return p
	case errors.As(err, &weak):
		p := usage("%v", weak)
		p.Code, p.Remedy = "secret_refused", "a value that short or plain could not be hidden in what tools answer; get a longer one"
		return p
	case errors.As(err, &file):
		return &console.Problem{Code: "secrets_file", Message: file.Error(), Exit: console.ExitUsage, Remedy: "`portcullis secrets list` reads it again"}
	case errors.Is(err, secret.ErrUnknown):
		p := usage("there is no such secret")
		p.Code, p.Remedy = "no_such_secret", "`portcullis secrets list` names them"
		return p
	}
	return nil
}
