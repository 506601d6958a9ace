package command

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

func (s *shell) serve() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "run schedules and background tasks until interrupted",
		Description: "Queued tasks run here, what the cores' schedules are due is run, and replies are delivered over the channels that\n" +
			"this host serves. One process at a time runs turns in a home: beside it, reading and deciding work, and\n" +
			"`portcullis schedules run` queues. Ctrl-C ends it, with all that it runs. With --log-level info it says what begins and ends.",
		Flags: []cli.Flag{waitFlag()},
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			waiting, err := wait(c)
			if err != nil {
				return err
			}
			began := time.Now()
			return s.opened(c, waiting, nil, nil, func(ctx context.Context, h *app.Running) error {
				all, err := h.Scheduled(ctx)
				if err != nil {
					return err
				}
				on := 0
				for _, one := range all {
					if one.Enabled {
						on++
					}
				}
				s.out.Err().Say("%s tasks run here; schedules that are on: %d (`portcullis schedules list`); Ctrl-C ends it", console.Good("serving:"), on)
				<-ctx.Done()
				answer := struct {
					Milliseconds float64 `json:"served_ms"`
				}{milliseconds(time.Since(began))}
				return s.out.Answer(answer, func(t *console.Text) { t.Say("ended; what ran was told to end, and `portcullis tasks list` says how") })
			}, func(o *app.HostOptions) { o.Schedules = true })
		},
	}
}
