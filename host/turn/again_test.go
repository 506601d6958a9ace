package turn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// planless is a planner of a core that is gone.
type planless struct{}

func (planless) Plan(context.Context, turn.Request) (turn.Plan, error) {
	return turn.Plan{}, errors.New("the core is gone")
}

func refusedAs(t *testing.T, err error, reason string) {
	t.Helper()
	var no *turn.RejectedError
	if !errors.As(err, &no) || no.Reason != reason {
		t.Errorf("%v, want %s", err, reason)
	}
}

// A turn that waits when the host closes is not begun only to be cancelled: its key is free.
func TestAClosedHostBeginsNoTurnThatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld(t, func(ctx context.Context, n int, req provider.Request) (provider.Response, error) {
			<-release // it is slow to heed its end
			return hanging(ctx, n, req)
		})
		x := turn.New(w.cfg)
		first, session, done := w.start(x, context.Background())
		waited := make(chan error, 3)
		for n := range cap(waited) {
			req := again(session)
			req.Key = id.Request(fmt.Sprint("order-", n))
			go func() {
				_, err := x.Run(context.Background(), req, turn.Observer{})
				waited <- err
			}()
		}
		synctest.Wait()
		began := time.Now()
		var closed sync.WaitGroup
		closed.Go(x.Close)
		for range cap(waited) {
			refusedAs(t, <-waited, turn.RejectClosed)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("they waited for %s", took)
		}
		close(release)
		w.want((<-done).res, turn.Cancelled, "cancelled")
		closed.Wait()
		turns, err := w.store.Turns(t.Context(), w.scope(session, authority.OperatorFacts("look")), session, 0, 10)
		if err != nil || len(turns) != 1 || turns[0].ID != first || len(w.shown) != 1 {
			t.Errorf("%+v, %v, %d model calls", turns, err, len(w.shown))
		}
	})
}

// closing closes the host while the session of a conversation is looked up.
type closing struct {
	turn.Journal
	at func()
}

func (c closing) BoundSession(ctx context.Context, owner principal.Facts) (id.Session, bool, error) {
	c.at()
	return c.Journal.BoundSession(ctx, owner)
}

// A turn that need not wait is refused, too, when the host closes before it is admitted.
func TestATurnThatEntersAsItsHostClosesIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("x") })
		var x *turn.Execution
		var closed sync.WaitGroup
		w.cfg.Journal = closing{w.store, func() {
			closed.Go(x.Close)
			synctest.Wait()
		}}
		x = turn.New(w.cfg)
		req := ask("x")
		req.Selector = turn.Selector{Kind: turn.Bound}
		_, err := x.Run(t.Context(), req, turn.Observer{})
		refusedAs(t, err, turn.RejectClosed)
		closed.Wait()
		if len(w.shown) != 0 {
			t.Errorf("%d model calls", len(w.shown))
		}
	})
}

// What was recorded under a key is answered also when the core that it ran is gone. Another request is a conflict first.
func TestARecordedTurnNeedsNoPlan(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("once") })
	req := ask("pay")
	req.Key = "order-17"
	first, err := turn.New(w.cfg).Run(t.Context(), req, turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	w.cfg.Planner = planless{}
	x := turn.New(w.cfg)
	got, err := x.Run(t.Context(), req, turn.Observer{})
	if err != nil || !got.Duplicate() || got.Turn() != first.Turn() || got.Reply() != "once" {
		t.Errorf("%v, %v", got.Turn(), err)
	}
	req.Input = "pay more"
	_, err = x.Run(t.Context(), req, turn.Observer{})
	refusedAs(t, err, turn.RejectConflict)
	req.Key = "order-18"
	_, err = x.Run(t.Context(), req, turn.Observer{})
	refusedAs(t, err, turn.RejectCore)
}

// Whoever asks again for a turn that runs waits for its end. Where no more may wait, the turn is named all the same.
func TestARunningTurnIsNamedWhereNobodyMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
			<-release
			return say("done")
		})
		x := turn.New(w.cfg)
		_, session, begun := w.start(x, context.Background())
		close(release)
		<-begun
		release = make(chan struct{})
		req := again(session)
		req.Key = "order-17"
		results := make(chan turn.Result, 2)
		run := func() {
			res, err := x.Run(t.Context(), req, turn.Observer{})
			if err != nil {
				t.Error(err)
			}
			results <- res
		}
		go run()
		synctest.Wait()
		go run() // waits for the first
		synctest.Wait()
		var others sync.WaitGroup
		for range turn.MaxWaitingSession - 1 {
			others.Go(func() { _, _ = x.Run(t.Context(), again(session), turn.Observer{}) })
		}
		synctest.Wait()
		got, err := x.Run(t.Context(), req, turn.Observer{})
		if err != nil || !got.Duplicate() || got.Reason() != "still_running" {
			t.Errorf("%s, %v", got.Reason(), err)
		}
		close(release)
		first, second := <-results, <-results
		if first.Turn() != got.Turn() || second.Turn() != got.Turn() || first.Duplicate() == second.Duplicate() {
			t.Errorf("%s and %s, want %s", first.Turn(), second.Turn(), got.Turn())
		}
		others.Wait()
		x.Close()
	})
}
