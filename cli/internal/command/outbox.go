package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
)

func (s *shell) outbox() *cli.Command {
	reason := &cli.StringFlag{Name: "reason", Usage: "`WORDS` for the record; required"}
	return &cli.Command{
		Name: "outbox", Usage: "replies on their way to conversations", Action: group,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list deliveries, newest first", Action: s.listDeliveries,
				Flags: listFlags(20, &cli.StringFlag{
					Name: "state", Value: "all",
					Usage: "only those in `STATE`: queued, claimed, sending, delivered, failed, unknown, dropped or all",
				}),
			},
			{Name: "show", Usage: "show one delivery whole", ArgsUsage: "DELIVERY", Action: s.showDelivery},
			{
				Name: "retry", Usage: "queue a failed or unknown delivery again", ArgsUsage: "DELIVERY",
				Flags: []cli.Flag{reason}, Action: func(c *cli.Context) error { return s.rule(c, false) },
			},
			{
				Name: "drop", Usage: "give up a queued, failed or unknown delivery for good", ArgsUsage: "DELIVERY",
				Flags: []cli.Flag{reason}, Action: func(c *cli.Context) error { return s.rule(c, true) },
			},
		},
	}
}

// deliveryAnswer is a delivery in a document.
type deliveryAnswer struct {
	ID           id.Delivery  `json:"id"`
	State        outbox.State `json:"state"`
	Channel      string       `json:"channel"`
	Conversation string       `json:"conversation"`
	Session      id.Session   `json:"session"`
	Turn         id.Turn      `json:"turn"`
	Attempts     int          `json:"attempts"`
	Idempotent   bool         `json:"idempotent"`
	Reason       string       `json:"reason,omitempty"`
	Due          *string      `json:"due,omitempty"`
	Created      *string      `json:"created"`
	Changed      *string      `json:"changed"`
	Body         string       `json:"body"`
}

func deliveryOf(d outbox.Delivery) deliveryAnswer {
	return deliveryAnswer{
		ID: d.ID, State: d.State, Channel: d.Channel, Conversation: d.Conversation, Session: d.Session, Turn: d.Turn,
		Attempts: d.Attempts, Idempotent: d.Idempotent, Reason: d.Reason, Due: moment(d.Due), Created: moment(d.Created),
		Changed: moment(d.Changed), Body: d.Body,
	}
}

func (s *shell) listDeliveries(c *cli.Context) error {
	state := outbox.State(c.String("state"))
	switch {
	case state == "all":
		state = ""
	case !state.Valid():
		p := usage("--state %q is not one of queued, claimed, sending, delivered, failed, unknown, dropped, all", string(state))
		p.Remedy = "write --state=all"
		return p
	}
	return listing[outbox.Delivery]{
		name: "deliveries", most: 500, none: "no deliveries: only turns that were asked in a conversation of a channel owe one",
		find: func(ctx context.Context, r *app.Records, skip, n int) ([]outbox.Delivery, error) {
			return r.Store.Deliveries(ctx, r.By, state, skip, n)
		},
		answer: func(d outbox.Delivery) any { return deliveryOf(d) },
		head:   []string{"delivery", "state", "channel", "attempts", "changed", "reason", "reply"},
		row: func(d outbox.Delivery) []any {
			return []any{d.ID, d.State, d.Channel, d.Attempts, stamp(d.Changed), d.Reason, console.Cut(d.Body, 40)}
		},
	}.show(s, c)
}

func (s *shell) showDelivery(c *cli.Context) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseDelivery(args[0])
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		d, ok, err := r.Store.Delivery(ctx, r.By, name)
		if err != nil {
			return err
		}
		if !ok {
			return notFound("delivery", name, "portcullis outbox list")
		}
		return s.out.Answer(deliveryOf(d), func(t *console.Text) { sayDelivery(t, d) })
	})
}

// sayDelivery shows where a delivery stands and what may be done.
func sayDelivery(t *console.Text, d outbox.Delivery) {
	t.Say("to         %s of channel %s", d.Conversation, d.Channel)
	t.Say("from       turn %s of session %s, ended at %s", d.Turn, d.Session, stamp(d.Created))
	t.Say("state      %s since %s; attempts: %d", d.State, stamp(d.Changed), d.Attempts)
	if d.Reason != "" {
		t.Say("reason     %s", d.Reason)
	}
	switch d.State {
	case outbox.Queued:
		t.Say("due        %s, when a host serves channel %s", stamp(d.Due), d.Channel)
	case outbox.Unknown:
		t.Say("to decide  look whether it arrived: if not, `portcullis outbox retry %s --reason=...` sends it again; else `portcullis outbox drop %s --reason=...`", d.ID, d.ID)
	case outbox.Failed:
		t.Say("to decide  `portcullis outbox retry %s --reason=...` or `portcullis outbox drop %s --reason=...`", d.ID, d.ID)
	}
	t.Say("reply")
	t.Prose("  ", d.Body)
}
