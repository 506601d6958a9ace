package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/task"
)

func (s *shell) schedules() *cli.Command {
	of := &cli.StringFlag{Name: "core", Usage: "`CORE` whose agent it is", DefaultText: "default_core of config.yaml"}
	return &cli.Command{
		Name: "schedules", Usage: "what agents do at certain times", Action: group,
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the schedules of every core, with when each is due next", Action: s.listSchedules},
			{Name: "next", Usage: "show the next times of one schedule", ArgsUsage: "SCHEDULE", Action: s.nextTimes, Flags: []cli.Flag{of, limitFlag(5)}},
			{
				Name: "run", Usage: "run a schedule now, whatever it says of when and whether", ArgsUsage: "SCHEDULE", Action: s.runSchedule,
				Description: "Beside another process in the home the run is queued for one that works (portcullis serve or chat); else it runs here.",
				Flags:       []cli.Flag{of, waitFlag()},
			},
		},
	}
}

// waitFlag is how long a run waits for a decision of another terminal.
func waitFlag() cli.Flag {
	return &cli.StringFlag{Name: "wait", Value: "10m", DefaultText: "10m", Usage: "`DURATION` a call waits for a decision in another terminal (portcullis approvals allow); 0: it is denied"}
}

// wait reads it.
func wait(c *cli.Context) (approving, error) {
	text := c.String("wait")
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		p := usage("--wait %q is not how long to wait", console.Cut(text, 40))
		p.Remedy = "write --wait=90s, --wait=10m or --wait=0"
		return approving{}, p
	}
	return approving{wait: d}, nil
}

// zoned shows a time of a schedule on the clock of its zone, and how far that is from UTC.
const zoned = "2006-01-02 15:04 -0700"

// scheduleAnswer is a schedule in a document.
type scheduleAnswer struct {
	Core    string  `json:"core"`
	ID      string  `json:"id"`
	Cron    string  `json:"cron"`
	Zone    string  `json:"timezone"`
	Enabled bool    `json:"enabled"`
	Session string  `json:"session"`
	Prompt  string  `json:"prompt"`
	Next    *string `json:"next,omitempty"`
}

func (s *shell) listSchedules(c *cli.Context) error {
	home, err := s.existing(c)
	if err != nil {
		return err
	}
	all, err := core.List(c.Context, home.Path)
	if err != nil {
		return err
	}
	answer := struct {
		Schedules []scheduleAnswer `json:"schedules"`
		Faults    []string         `json:"faults,omitempty"` // of cores that cannot be read
	}{Schedules: []scheduleAnswer{}}
	var rows [][]any
	var faults core.LoadErrors
	for _, one := range all {
		if one.Err != nil {
			faults = append(faults, core.Faults(one.Err)...)
			continue
		}
		for _, sch := range one.Core.Schedules() {
			a := scheduleAnswer{one.ID, sch.ID, sch.Cron, sch.Zone, sch.Enabled, cmp.Or(sch.Session, "fresh"), sch.Prompt, nil}
			due := "never: it is off"
			if next, is := sch.Next(time.Now()); is && sch.Enabled {
				a.Next, due = moment(next), next.Format(zoned)
			}
			answer.Schedules = append(answer.Schedules, a)
			rows = append(rows, []any{a.Core, a.ID, a.Cron, a.Zone, due, a.Session, console.Cut(a.Prompt, 40)})
		}
	}
	for _, f := range faults {
		answer.Faults = append(answer.Faults, f.Error())
		s.out.Err().Say("%s %s", console.Bad("error:"), f.Error())
	}
	if len(faults) > 0 {
		s.out.Err().Say("%s a core with a fault is not used at all: none of its schedules is listed or run until that is mended", console.Warn("note:"))
	}
	err = s.out.Answer(answer, func(t *console.Text) {
		switch {
		case len(rows) > 0:
			t.Table([]string{"core", "schedule", "cron", "timezone", "next", "session", "prompt"}, rows)
		case len(faults) == 0:
			t.Say("no schedules: write one into cores/ID/agent/schedules/NAME.yaml, with cron, timezone and prompt")
		}
	})
	if err == nil && len(faults) > 0 {
		err = no{}
	}
	return err
}

// schedule finds the schedule that the operand and --core name.
func (s *shell) schedule(c *cli.Context) (app.Home, string, core.Schedule, error) {
	args, err := operands(c)
	if err != nil {
		return app.Home{}, "", core.Schedule{}, err
	}
	home, err := s.home()
	if err == nil {
		err = home.Check()
	}
	of := c.String("core")
	if err == nil && of == "" {
		var settings core.HostConfig
		settings, err = core.LoadHost(c.Context, home.Path)
		of = settings.DefaultCore
	}
	if err != nil {
		return app.Home{}, "", core.Schedule{}, err
	}
	sch, err := host.ScheduleIn(c.Context, home.Path, of, args[0])
	var missing *host.NoScheduleError
	if errors.As(err, &missing) {
		err = &console.Problem{
			Code: "schedule_not_found", Exit: console.ExitNo, Message: fmt.Sprintf("core %s has no schedule %s", missing.Core, console.Cut(missing.Schedule, 60)),
			Remedy: "`portcullis schedules list` shows them; another core is named with --core CORE",
		}
	}
	return home, of, sch, err
}

func (s *shell) nextTimes(c *cli.Context) error {
	n, err := limit(c, 100)
	if err != nil {
		return err
	}
	_, of, sch, err := s.schedule(c)
	if err != nil {
		return err
	}
	answer := struct {
		Core    string    `json:"core"`
		ID      string    `json:"id"`
		Enabled bool      `json:"enabled"`
		Times   []*string `json:"times"`
	}{of, sch.ID, sch.Enabled, []*string{}}
	var times []time.Time
	for at, is := sch.Next(time.Now()); is && len(times) < n; at, is = sch.Next(at) {
		times = append(times, at)
		answer.Times = append(answer.Times, moment(at))
	}
	return s.out.Answer(answer, func(t *console.Text) {
		for _, at := range times {
			t.Say("%s", at.Format("Mon "+zoned))
		}
		if !sch.Enabled {
			t.Say("%s it is off: nothing is run then", console.Warn("note:"))
		}
	})
}

// runSchedule queues a run, and runs it here when no other process runs anything in the home.
func (s *shell) runSchedule(c *cli.Context) error {
	home, of, sch, err := s.schedule(c)
	if err != nil {
		return err
	}
	waiting, err := wait(c)
	if err != nil {
		return err
	}
	other, err := s.waits()
	if err != nil {
		return err
	}
	var queued task.Task
	err = s.records(c, func(ctx context.Context, r *app.Records) error {
		t, how, err := r.FireSchedule(ctx, of, sch)
		switch {
		case err != nil:
			return err
		case how == task.ScopeBusy:
			return &console.Problem{
				Code: "schedule_running", Exit: console.ExitNo, Message: fmt.Sprintf("a run of %s is still open", sch.ID),
				Remedy: "`portcullis tasks list` shows it; end it with `portcullis tasks cancel TASK`, or wait",
			}
		case how != task.Accepted:
			return fmt.Errorf("command: the store answered %q", how)
		}
		queued = t
		return nil
	})
	if err != nil {
		return err
	}
	if other {
		return s.out.Answer(taskOf(queued), func(t *console.Text) {
			t.Say("%s %s: a host that works (portcullis serve or chat) runs it; `portcullis tasks show %s` says how it went", console.Good("queued:"), queued.ID, queued.ID)
		})
	}
	return s.opened(c, waiting, nil, nil, func(ctx context.Context, h *app.Running) error {
		t, err := untilEnded(ctx, h.Host, home, queued.ID)
		if err != nil {
			return err
		}
		err = s.out.Answer(taskOf(t), func(text *console.Text) { sayTask(text, t) })
		if err == nil && t.State != task.Succeeded {
			err = no{}
		}
		return err
	}, func(o *app.HostOptions) { o.WorkOn = queued.ID })
}

// lookEvery is how often a command looks whether a task has ended.
const lookEvery = 100 * time.Millisecond

// untilEnded waits for the end of a task that this process runs.
func untilEnded(ctx context.Context, h *host.Host, home app.Home, name id.Task) (task.Task, error) {
	by, err := h.Operator(ctx, "schedules run")
	if err != nil {
		return task.Task{}, err
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		t, found, err := h.Tasks().Task(ctx, by, "", name)
		switch {
		case err != nil:
			return task.Task{}, err
		case !found:
			return task.Task{}, fmt.Errorf("command: task %s of %s is gone", name, home.Path)
		case t.State.Ended():
			return t, nil
		}
		select {
		case <-ctx.Done():
			return task.Task{}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
