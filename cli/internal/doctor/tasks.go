package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/host/core"
)

// runs reports whether a process that one of these commands started is running in the home.
func (e *examination) runs(commands ...string) bool {
	by, err := e.home.LockedBy()
	for _, name := range commands {
		if err != nil || strings.Contains(by, "portcullis "+name) { // said elsewhere that the lock cannot be read
			return true
		}
	}
	return false
}

// tasks notes background tasks of which a person would like to know.
func (e *examination) tasks(w app.Waiting) {
	if w.Lost > 0 {
		e.add("tasks.lost", Warn, fmt.Sprintf("tasks whose host died while they ran, in the last %d days: %d; what they did is not known, and none is run again by itself", int(app.LostFor.Hours())/24, w.Lost),
			"portcullis tasks list --state=lost")
	}
	if by, err := e.home.LockedBy(); err == nil && by == "" && w.Held > 0 {
		e.add("tasks.left", Warn, fmt.Sprintf("tasks that a process which is gone left running: %d; the next command that runs turns makes them lost", w.Held), "portcullis tasks list")
	}
	if w.Queued > 0 && !e.runs("serve", "chat") {
		e.add("tasks.queued", Warn, fmt.Sprintf("tasks that wait for a host which works: %d", w.Queued), "portcullis serve")
	}
}

// schedules notes those that are due while nobody serves. A file with a fault is noted with its core, which is not used at all.
func (e *examination) schedules(ctx context.Context, host *app.Shadow, cores []core.Core, now time.Time) {
	on, noted := 0, len(e.found)
	for _, c := range cores {
		for _, s := range c.Schedules() {
			if !s.Enabled {
				continue
			}
			on++
			seen, err := host.Seen(ctx, c.ID(), s, now)
			if err != nil {
				e.problem("schedules.due", err, "portcullis store check")
				return
			}
			if due, is := s.Latest(seen, now); is && !e.runs("serve") {
				e.add("schedules.overdue", Warn, fmt.Sprintf("schedule %s of core %s was due at %s, and nothing serves; what was missed comes to one run", s.ID, c.ID(), due.UTC().Format("2006-01-02 15:04 UTC")), "portcullis serve")
			}
		}
	}
	if on > 0 && len(e.found) == noted {
		e.ok("schedules.due", fmt.Sprintf("schedules that are on: %d, and none is overdue", on))
	}
}
