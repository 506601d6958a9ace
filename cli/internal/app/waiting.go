package app

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// MaxWaiting bounds each count of [Waiting].
const MaxWaiting = 100

// Waiting is what waits for a person in a home, each counted up to [MaxWaiting].
type Waiting struct {
	Effects    int // that may or may not have happened, about which nothing is settled
	Deliveries int // that may or may not have arrived
	Questions  int // that can still be answered
	Queued     int // tasks that nobody has begun
	Held       int // tasks that some host has, or had when it died
	Lost       int // tasks that were lost within [LostFor]
}

// LostFor is how long a task that was lost is worth a word.
const LostFor = 7 * 24 * time.Hour

// waitingIn counts what waits in a copy of a home's store, before a host that opens it ends anything.
func waitingIn(ctx context.Context, copied *sqlite.Store, ids *id.Source, now time.Time) (w Waiting, err error) {
	resolver := authority.NewResolver(copied, copied, time.Now, ids)
	defer resolver.End()
	by, err := resolver.Operator(ctx, "look at what waits")
	if err != nil {
		return w, err
	}
	effects, err := copied.Uncertain(ctx, by, true, 0, MaxWaiting)
	if err != nil {
		return w, err
	}
	deliveries, err := copied.Deliveries(ctx, by, outbox.Unknown, 0, MaxWaiting)
	if err != nil {
		return w, err
	}
	questions, err := copied.Questions(ctx, by, approval.Pending, 0, MaxWaiting)
	if err != nil {
		return w, err
	}
	for _, q := range questions {
		if now.Before(q.Expires) {
			w.Questions++
		}
	}
	w.Effects, w.Deliveries = len(effects), len(deliveries)
	for state, n := range map[task.State]*int{task.Queued: &w.Queued, task.Running: &w.Held, task.Blocked: &w.Held, task.Lost: &w.Lost} {
		tasks, err := copied.Tasks(ctx, by, "", state, 0, MaxWaiting)
		if err != nil {
			return w, err
		}
		for _, t := range tasks {
			if state != task.Lost || now.Sub(t.Ended) < LostFor {
				*n++
			}
		}
	}
	return w, nil
}
