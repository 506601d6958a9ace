package task

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// lookEvery is how often a scheduler looks what is due. A schedule is due on the minute.
const lookEvery = 10 * time.Second

// Schedule is one schedule of a core as it is read now.
type Schedule struct {
	Core    string
	ID      string
	Title   string // what a list of tasks shows
	Prompt  string
	Session string // name of the session that its runs share; empty: each run has a fresh one
	Enabled bool
	Digest  string // of all that decides when it is due: another one begins anew
	// Latest is the last time that it was due after after and up to now; false when there is none.
	Latest func(after, now time.Time) (time.Time, bool)
}

// FireSpec is what a run of a schedule is told, as its task keeps it.
type FireSpec struct {
	Prompt  string `json:"prompt"`
	Session string `json:"session,omitempty"`
}

// Run names the run for the principal that it acts as: runs that share a session are one principal, and any other run is one
// of its own.
func (f FireSpec) Run(t id.Task) string {
	if f.Session != "" {
		return "session-" + f.Session
	}
	return string(t)
}

// SchedulerConfig is what a Scheduler works with. All of it is required.
type SchedulerConfig struct {
	Queue     Queue
	Schedules func(ctx context.Context) ([]Schedule, error) // read anew each time, so that an edited file counts
	Owner     func(core, schedule, run string) (principal.Facts, error)
	IDs       *id.Source
	Clock     func() time.Time
	Log       Log
	Wake      func() // after a run was queued
}

// Scheduler queues the runs of schedules that are due. Several may look at one store: a due time is fired once.
type Scheduler struct {
	cfg  SchedulerConfig
	told map[string]Queueing // what the log said last of each schedule; of Run's goroutine alone
}

// NewScheduler returns a Scheduler.
func NewScheduler(cfg SchedulerConfig) *Scheduler {
	return &Scheduler{cfg: cfg, told: map[string]Queueing{}}
}

// Run looks what is due until ctx ends. What was missed while nobody looked comes to one run, of the last time that was
// missed; a schedule whose last run is still open waits for that, and what it misses meanwhile comes to one run too.
func (s *Scheduler) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("schedules could not be looked through", "error", err)
		}
		rest(ctx, lookEvery, nil)
	}
}

func (s *Scheduler) look(ctx context.Context) error {
	all, err := s.cfg.Schedules(ctx)
	if err != nil {
		return err
	}
	for _, one := range all { // one that fails holds up no other
		if err := s.fire(ctx, one); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("a schedule could not be fired", "core", one.Core, "schedule", one.ID, "error", err)
		}
	}
	return nil
}

// fire queues the run that is due, if there is one.
func (s *Scheduler) fire(ctx context.Context, one Schedule) error {
	now := s.cfg.Clock()
	after, err := s.cfg.Queue.SeeSchedule(ctx, one.Core, one.ID, one.Digest, now)
	if err != nil || !one.Enabled {
		return err
	}
	due, is := one.Latest(after, now)
	if !is {
		return nil
	}
	n, err := s.task(one, due)
	if err != nil {
		return err
	}
	_, how, err := s.cfg.Queue.FireSchedule(ctx, n, one.Digest, after, s.record(now))
	if err != nil {
		return err
	}
	key := one.Core + "/" + one.ID
	if how == ScopeBusy && s.told[key] != how {
		s.cfg.Log.Warn("a schedule is due and its last run is still open", "core", one.Core, "schedule", one.ID)
	}
	if s.told[key] = how; how == Accepted {
		s.cfg.Wake()
	}
	return nil
}

// FireNow queues a run whose due time is now, and leaves what else is due where it is.
func (s *Scheduler) FireNow(ctx context.Context, one Schedule) (Task, Queueing, error) {
	n, err := s.task(one, s.cfg.Clock())
	if err != nil {
		return Task{}, "", err
	}
	n.Instance += " by hand"
	got, how, err := s.cfg.Queue.FireSchedule(ctx, n, "", time.Time{}, s.record(n.Created))
	if err == nil && how == Accepted {
		s.cfg.Wake()
	}
	return got, how, err
}

func (s *Scheduler) task(one Schedule, due time.Time) (Task, error) {
	told := FireSpec{Prompt: one.Prompt, Session: one.Session}
	key := s.cfg.IDs.Task()
	owner, err := s.cfg.Owner(one.Core, one.ID, told.Run(key))
	if err != nil {
		return Task{}, err
	}
	spec, err := json.Marshal(told)
	if err != nil {
		return Task{}, fmt.Errorf("task: write down a run of %s: %w", one.ID, err)
	}
	return Task{
		ID: key, Kind: Fire, Instance: fmt.Sprintf("%s/%s@%d", one.Core, one.ID, due.UnixMilli()), Owner: owner, Core: one.Core,
		Schedule: one.ID, Due: due, Title: cutTitle(one.Title), Spec: string(spec), Scope: "schedule:" + one.Core + "/" + one.ID, Created: s.cfg.Clock(),
	}, nil
}

// cutTitle is the beginning of a text in one line.
func cutTitle(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= MaxTitle {
		return text
	}
	n := MaxTitle - len("…")
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

func (s *Scheduler) record(now time.Time) event.Record {
	return event.Record{ID: s.cfg.IDs.Event(), At: now, Kind: event.TaskQueued}
}
