package command

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/secret"
)

func (s *shell) secrets() *cli.Command {
	return &cli.Command{
		Name: "secrets", Usage: "keys and tokens that the host holds and no plugin or model sees", Action: group,
		Subcommands: []*cli.Command{
			{
				Name: "set", Usage: "keep a secret, or replace one", ArgsUsage: "NAME", Flags: secretFlags(), Action: s.secretsSet,
				Description: "The value is read from standard input, or asked for without echo; it is never an argument, which other users\n" +
					"of the machine could read. It is kept encrypted in secrets.age, whose key is secrets.key (mode 0600), both in the home.\n" +
					"From then on no view and no record shows it. What was stored before is not rewritten: a value that somebody typed into\n" +
					"a conversation before it was kept stands in the database, so give it a new value at its source.",
			},
			{Name: "list", Usage: "names, places and dates; never values", Action: s.secretsList},
			{Name: "remove", Usage: "forget a secret", ArgsUsage: "NAME", Action: s.secretsRemove},
			{
				Name: "rotate", Usage: "give a secret a new value, or all of them a new encryption key", ArgsUsage: "[NAME]",
				Description: "Without NAME the file is encrypted anew to a new secrets.key; copies of the old key open it no more.",
				Flags:       secretFlags(), Action: s.secretsRotate,
			},
		},
	}
}

func secretFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "keep only the `PLACE` of the value: env:NAME or file:PATH"},
		&cli.StringFlag{Name: "expires", Usage: "give it out until then: a `DATE` (2027-01-31) or a duration (720h)"},
	}
}

// secretAnswer is one secret in a document.
type secretAnswer struct {
	Name    secret.Name `json:"name"`
	From    string      `json:"from"` // "secrets.age", "env:NAME" or "file:PATH"
	Set     *string     `json:"set_at"`
	Rotated *string     `json:"rotated_at,omitempty"`
	Expires *string     `json:"expires_at,omitempty"`
	Expired bool        `json:"expired"`
	Plugins []string    `json:"plugins"` // that the operator granted it to
	Cores   []string    `json:"cores"`   // that list it; a call of a plugin needs both
}

func (s *shell) secretsList(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	vault, err := vaultIn(c.Context, home)
	if err != nil {
		return err
	}
	all, err := vault.List(c.Context)
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error { return s.tellSecrets(ctx, home, r, vault, all) })
}

func (s *shell) tellSecrets(ctx context.Context, home app.Home, r *app.Records, vault *secret.Vault, all []secret.Entry) error {
	plugins, cores, err := s.users(ctx, home, r)
	if err != nil {
		return err
	}
	answer := struct {
		Identity string         `json:"identity"` // where what decrypts them is
		Secrets  []secretAnswer `json:"secrets"`
	}{vault.Where(), []secretAnswer{}}
	var rows [][]any
	for _, e := range all {
		a := secretAnswer{
			Name: e.Name, From: secret.FileName, Set: moment(e.Set), Rotated: moment(e.Rotated), Expires: moment(e.Expires),
			Expired: !e.Expires.IsZero() && !time.Now().Before(e.Expires),
			Plugins: list(plugins[string(e.Name)]), Cores: list(cores[string(e.Name)]),
		}
		if !e.From.Zero() {
			a.From = e.From.String()
		}
		var until any = stamp(e.Expires)
		if a.Expired {
			until = console.Bad("expired " + stamp(e.Expires))
		}
		answer.Secrets, rows = append(answer.Secrets, a), append(rows, []any{string(e.Name), a.From, stamp(e.Set), stamp(e.Rotated), until, strings.Join(a.Plugins, " "), strings.Join(a.Cores, " ")})
	}
	return s.out.Answer(answer, func(t *console.Text) {
		if len(rows) == 0 {
			t.Say("there are none; `portcullis secrets set NAME` keeps one")
			return
		}
		t.Table([]string{"name", "value in", "set", "rotated", "expires", "plugins", "cores"}, rows)
	})
}

// vaultIn is the vault of the home, with its identity where config.yaml says.
func vaultIn(ctx context.Context, home app.Home) (*secret.Vault, error) {
	config, err := core.LoadHost(ctx, home.Path)
	if err != nil {
		return nil, err
	}
	return secret.Open(home.Path, config.Identity, time.Now), nil
}

// list is never null in a document.
func list(names []string) []string { return append([]string{}, names...) }

func (s *shell) secretsSet(c *cli.Context) error {
	return s.changeSecret(c, event.SecretSet, func(ctx context.Context, v *secret.Vault, name secret.Name, content secret.Content) (string, error) {
		made, err := v.Set(ctx, name, content)
		if made {
			return "kept", err
		}
		return "replaced", err
	})
}

func (s *shell) secretsRotate(c *cli.Context) error {
	if c.Args().Len() > 0 {
		return s.changeSecret(c, event.SecretRotated, func(ctx context.Context, v *secret.Vault, name secret.Name, content secret.Content) (string, error) {
			return "rotated", v.Rotate(ctx, name, content)
		})
	}
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		if err := r.Note(ctx, event.SecretRotated, event.F("secret", "*")); err != nil {
			return err
		}
		vault, err := vaultIn(ctx, home)
		if err != nil {
			return err
		}
		if err := vault.RotateIdentity(ctx); err != nil {
			return err
		}
		return s.out.Answer(map[string]string{"rotated": secret.IdentityName, "identity": vault.Where()}, func(t *console.Text) {
			t.Say("%s the identity in %s is new, and %s is encrypted to it", console.Good("done:"), vault.Where(), secret.FileName)
		})
	})
}

// changeSecret reads NAME and its content and applies do. The audit record comes first: a change that cannot be
// recorded is not made.
func (s *shell) changeSecret(c *cli.Context, kind event.Kind, do func(context.Context, *secret.Vault, secret.Name, secret.Content) (string, error)) error {
	if c.Args().Len() > 1 { // what stands there is most likely the value, so it is not repeated
		p := usage("%s takes the value on standard input, or asks for it: an argument can be read by other users and stays in the shell's history", c.Command.HelpName)
		p.Remedy = "type `" + c.Command.HelpName + " NAME`; what was typed as an argument is best replaced at its source"
		return p
	}
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	name, err := secret.ParseName(c.Args().First())
	if err != nil {
		return err
	}
	if kind == event.SecretRotated { // said before a value is asked for that nothing would take
		vault, err := vaultIn(c.Context, home)
		if err != nil {
			return err
		}
		kept, err := vault.List(c.Context)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(kept, func(e secret.Entry) bool { return e.Name == name }) {
			return secret.ErrUnknown
		}
	}
	content, err := s.secretContent(c, name)
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		if err := r.Note(ctx, kind, event.F("secret", string(name)), event.F("from", content.From.String())); err != nil {
			return err
		}
		vault, err := vaultIn(ctx, home)
		if err != nil {
			return err
		}
		done, err := do(ctx, vault, name, content)
		if err != nil {
			return err
		}
		answer := map[string]string{"secret": string(name), "done": done}
		if why := s.empty(ctx, home, content.From); why != "" {
			answer["note"] = s.out.Typed(why)
		}
		return s.out.Answer(answer, func(t *console.Text) {
			t.Say("%s %s is %s; config.yaml may name it as secret:%s", console.Good("done:"), name, done, name)
			t.Say("it is hidden from now on; where it was typed before, in a message, a question or a file, it stands as it was typed")
			if why := answer["note"]; why != "" {
				s.out.Err().Say("%s %s", console.Warn("note:"), why)
			}
		})
	})
}

// empty is why a place has no value now, if it has none. It is kept all the same: a variable may be set where the host
// starts, and a file may come.
func (s *shell) empty(ctx context.Context, home app.Home, from secret.Ref) string {
	if from.Zero() {
		return ""
	}
	lookup := func(name string) (string, bool) { v := s.proc.Env(name); return v, v != "" }
	reader := secret.Reader{Home: home.Path, Lookup: lookup, Clock: time.Now}
	if _, err := reader.Read(ctx, from); err != nil {
		return err.Error() + "; until then, calls that need it are denied"
	}
	return ""
}

func (s *shell) secretsRemove(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	name, err := secret.ParseName(c.Args().First())
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		if err := r.Note(ctx, event.SecretRemoved, event.F("secret", string(name))); err != nil {
			return err
		}
		vault, err := vaultIn(ctx, home)
		if err != nil {
			return err
		}
		removed, err := vault.Remove(ctx, name)
		if err != nil {
			return err
		}
		if !removed {
			return secret.ErrUnknown
		}
		return s.out.Answer(map[string]string{"secret": string(name), "done": "removed"}, func(t *console.Text) {
			t.Say("%s %s is forgotten", console.Good("done:"), name)
		})
	})
}
