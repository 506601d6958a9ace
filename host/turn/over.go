package turn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/provider"
)

// wait returns how the body of the turn ended. One that goes on for longer than its cleanup may take after ctx has ended is
// given up, so that nothing that heeds no context holds the turn, its session or a shutdown: whole is false then, w is still
// in its hands, and what it writes from then on is refused, because the turn has ended.
func (w *work) wait(ctx context.Context, body func(*work, context.Context) ending) (end ending, whole bool) {
	done := make(chan ending, 1)
	go func() { // ends with the body
		end := failed("host_fault", "the host broke an invariant of its own; please report this")
		defer func() { done <- end }()
		end = w.do(ctx, body)
	}()
	select {
	case end = <-done:
		return end, true
	case <-ctx.Done():
	}
	patience := time.NewTimer(cleanup - time.Duration(w.live.family.generation)*generation)
	defer patience.Stop()
	select {
	case end = <-done:
		return end, true
	case <-patience.C:
	}
	return ending{
		outcome: Indeterminate, reason: "cleanup_unconfirmed",
		sentence: "it was told to end and something of it went on, so nobody knows what that did: look at its effects, then decide by hand",
	}, false
}

// tally is what a turn has done so far, for whoever ends it while its work goes on in other hands. The Execution's lock guards it.
type tally struct {
	usage   Usage
	effects []effect.Summary
}

// spend counts what a model said a call cost.
func (w *work) spend(u provider.Usage) {
	w.usage.Input += int64(u.Input)
	w.usage.Output += int64(u.Output)
	w.usage.CacheRead += int64(u.CacheRead)
	w.usage.CacheWrite += int64(u.CacheWrite)
	w.x.mu.Lock()
	defer w.x.mu.Unlock()
	w.live.tally.usage = w.usage
}

// did counts an effect that has ended.
func (w *work) did(e effect.Summary) {
	w.effects = append(w.effects, e)
	w.x.mu.Lock()
	defer w.x.mu.Unlock()
	w.live.tally.effects = append(w.live.tally.effects, e)
}

// givenUp stands for the work of a turn that is still in other hands.
func (x *Execution) givenUp(a *admitted, live *running) *work {
	x.mu.Lock()
	defer x.mu.Unlock()
	return &work{x: x, a: a, live: live, steps: live.family.steps, usage: live.tally.usage, effects: slices.Clone(live.tally.effects)}
}

// cutOff is the end of a turn of this process whose claim was over before its own end could be written, for example because
// the machine slept: the store ends it by the rules of a restart. how is what it said to the turn's own end.
func (x *Execution) cutOff(ctx context.Context, live *running, how Fenced) (ending, error) {
	got, err := x.recoverTurn(ctx, live)
	switch {
	case err != nil:
		return ending{}, fmt.Errorf("the store answered %q, and then: %w", how, err)
	case got == nil:
		return ending{}, fmt.Errorf("the store answered %q", how)
	}
	sentence := "the machine or the store stood still until the turn's claim was over; nothing was run again"
	if got.Outcome == Cancelled {
		sentence = "it was asked to end, and " + sentence
	}
	return ending{outcome: got.Outcome, reason: ReasonLeaseExpired, sentence: sentence}, nil
}

// recoverTurn ends what claims are over of, and returns how live was ended that way; nil when it was not.
func (x *Execution) recoverTurn(ctx context.Context, live *running) (*Recovered, error) {
	x.recovery.Lock()
	defer x.recovery.Unlock()
	if got := x.recovered(live, nil); got != nil {
		return got, nil
	}
	all, err := x.cfg.Journal.Recover(ctx, x.cfg.Epoch, x.cfg.Clock())
	return x.recovered(live, all), err
}

// recovered tells the turns that run here how they were ended, and returns how live was.
func (x *Execution) recovered(live *running, all []Recovered) *Recovered {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range all {
		if of, ok := x.active[r.Turn]; ok {
			of.lost = &r
		}
		if r.Turn == live.turn {
			live.lost = &r
		}
	}
	return live.lost
}

// endLater has a turn whose end could not be written ended when its claim is over, unless the host is closed before: then the
// next one does.
func (x *Execution) endLater(a *admitted, live *running) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	x.drain.Go(func() { // ends with the turn, or with Close
		for wait := a.claim.Expires.Sub(x.cfg.Clock()); ; wait = grace {
			timer := time.NewTimer(max(wait, 0))
			select {
			case <-timer.C:
			case <-x.quit:
				timer.Stop()
				return
			}
			if _, err := x.recoverTurn(context.Background(), live); err == nil && !x.cfg.Clock().Before(a.claim.Expires) {
				return // it, another turn or a decider has ended it
			}
		}
	})
}
