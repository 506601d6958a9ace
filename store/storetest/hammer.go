package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

func hammerCases() []testCase {
	return []testCase{{"concurrent turns of many sessions end once each", hammer}}
}

// hammer lets workers contend for a few sessions with whole turns, while readers look.
func hammer(t *testing.T, w *world) {
	const workers, rounds, people = 6, 8, 3
	by := w.operator(t)
	admitted := make(chan live, workers*rounds)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for round := range rounds {
				a := w.admission(talker(fmt.Sprint("p", (worker+round)%people)), bound())
				got, err := w.Store.Admit(w.ctx, a, w.records())
				if err != nil {
					t.Error(err)
					return
				}
				if got.Disposition == turn.Busy {
					continue
				}
				l := live{a.Turn, got.Session, got.Claim}
				admitted <- l
				if err := w.wholeTurn(l); err != nil {
					t.Error(err)
					return
				}
			}
		})
		wg.Go(func() {
			for range rounds {
				if _, err := w.Store.Sessions(w.ctx, by, 0, 10); err != nil {
					t.Error(err)
				}
				if _, err := w.Store.Events(w.ctx, by, turn.EventQuery{Limit: 10}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(admitted)
	fences := map[string]bool{}
	n := 0
	for l := range admitted {
		n++
		if rec := w.turnOf(t, l.turn); rec.Outcome != turn.Completed {
			t.Errorf("turn %s ended as %q", l.turn, rec.Outcome)
		}
		key := fmt.Sprint(l.session, l.claim.Fence)
		if fences[key] {
			t.Errorf("two claims of %s have the fence %d", l.session, l.claim.Fence)
		}
		fences[key] = true
	}
	if n < people {
		t.Errorf("only %d turns were admitted", n)
	}
	if got := w.events(t, turn.EventQuery{Kind: event.TurnFinished}); len(got) != n {
		t.Errorf("%d turns, %d turn.finished records", n, len(got))
	}
	if left, err := w.Store.Recover(w.ctx, w.ids.Epoch(), w.Clock.Now()); len(left) != 0 || err != nil {
		t.Errorf("turns left running: %+v, %v", left, err)
	}
}

func (w *world) wholeTurn(l live) error {
	s := w.started(l)
	if _, err := w.Store.EffectStarted(w.ctx, s, w.record(event.EffectStarted)); err != nil {
		return err
	}
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, "user", `{}`)}); how != turn.Written || err != nil {
		return fmt.Errorf("append %q: %w", how, err)
	}
	if err := w.Store.EffectFinished(w.ctx, w.finished(s, effect.Succeeded), w.record(event.EffectFinished)); err != nil {
		return err
	}
	if how, err := w.Store.Finish(w.ctx, w.terminal(l, turn.Completed), w.record(event.TurnFinished)); how != turn.Written || err != nil {
		return fmt.Errorf("finish %q: %w", how, err)
	}
	return nil
}
