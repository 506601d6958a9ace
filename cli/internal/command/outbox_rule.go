package command

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
)

// rule records what the operator decided about one delivery, by its id and with a reason.
func (s *shell) rule(c *cli.Context, drop bool) error {
	args, err := operands(c)
	if err != nil {
		return err
	}
	name, err := id.ParseDelivery(args[0])
	if err != nil {
		return err
	}
	why := c.String("reason")
	if why == "" || len(why) > outbox.MaxReason {
		p := usage("--reason must say why, in 1 to %d bytes", outbox.MaxReason)
		p.Remedy = "write --reason='looked: it did not arrive'"
		return p
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		d, how, err := r.RuleDelivery(ctx, name, drop, why)
		switch {
		case err != nil:
			return err
		case how == outbox.NotFound:
			return notFound("delivery", name, "portcullis outbox list")
		case how == outbox.NotThus:
			return notThus(d, drop)
		}
		return s.out.Answer(deliveryOf(d), func(t *console.Text) {
			if drop {
				t.Say("%s %s will not be sent", console.Warn("dropped:"), d.ID)
				return
			}
			t.Say("%s %s is sent when a host serves channel %s", console.Good("queued:"), d.ID, d.Channel)
		})
	})
}

// notThus is the failure of a decision that a delivery's state does not allow.
func notThus(d outbox.Delivery, drop bool) error {
	does, may := "sent again", "failed and unknown"
	if drop {
		does, may = "dropped", "queued, failed and unknown"
	}
	return &console.Problem{
		Code: "delivery_" + string(d.State), Exit: console.ExitNo,
		Message: fmt.Sprintf("delivery %s is %s and cannot be %s; only %s ones can", d.ID, d.State, does, may),
		Remedy:  fmt.Sprintf("`portcullis outbox show %s` shows where it stands", d.ID),
	}
}
