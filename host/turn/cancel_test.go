package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// hanging is a model that never answers by itself.
func hanging(ctx context.Context, _ int, _ provider.Request) (provider.Response, error) {
	<-ctx.Done()
	return provider.Response{}, &provider.Error{Kind: provider.KindCanceled, Cause: ctx.Err()}
}

type ended struct {
	res turn.Result
	err error
}

// start runs a turn beside the test and returns its id once it is admitted.
func (w *world) start(x *turn.Execution, ctx context.Context) (id.Turn, id.Session, <-chan ended) {
	type ids struct {
		t id.Turn
		s id.Session
	}
	admitted, done := make(chan ids, 1), make(chan ended, 1)
	go func() {
		res, err := x.Run(ctx, ask("x"), turn.Observer{Started: func(t id.Turn, s id.Session) { admitted <- ids{t, s} }})
		done <- ended{res, err}
	}()
	got := <-admitted
	synctest.Wait()
	return got.t, got.s, done
}

func (w *world) scope(s id.Session, facts principal.Facts) principal.Scope {
	w.t.Helper()
	scope, err := w.cfg.Authority.Session(context.Background(), facts, s)
	if err != nil {
		w.t.Fatal(err)
	}
	return scope
}

func TestCancelEndsTheTurnOnceAndSaysSoAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hanging)
		x := turn.New(w.cfg)
		tid, session, done := w.start(x, context.Background())
		by := w.scope(session, authority.OperatorFacts("stop it"))
		if how, err := x.Cancel(t.Context(), w.store, by, tid); err != nil || how != turn.CancelDone {
			t.Fatal(how, err)
		}
		got := <-done
		if got.err != nil {
			t.Fatal(got.err)
		}
		w.want(got.res, turn.Cancelled, "cancelled")
		if how, err := x.Cancel(t.Context(), w.store, by, tid); err != nil || how != turn.CancelTooLate {
			t.Fatal(how, err)
		}
		if how, err := x.Cancel(t.Context(), w.store, by, w.ids.Turn()); err != nil || how != turn.CancelNotFound {
			t.Fatal(how, err)
		}
	})
}

func TestCancelOfAnotherOwnersTurnIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hanging)
		x := turn.New(w.cfg)
		theirs := principal.Facts{
			PrincipalID: "principal:conversation:telegram:2", Authority: principal.Conversation, Channel: "telegram", ConversationKey: "telegram:dm:2",
		}
		ctx, stop := context.WithCancel(context.Background())
		tid, _, done := w.start(x, ctx)
		// A scope over a session of their own, which this turn is not in.
		w2 := turn.Request{Core: "assistant", Input: "hi", Actor: theirs}
		quick := *w
		quick.plan.Model = model{w, new(sync.Mutex), func(context.Context, int, provider.Request) (provider.Response, error) { return say("x") }}
		quick.cfg.Planner = &quick
		own, err := turn.New(quick.cfg).Run(t.Context(), w2, turn.Observer{})
		if err != nil {
			t.Fatal(err)
		}
		if how, err := x.Cancel(t.Context(), w.store, w.scope(own.Session(), theirs), tid); err != nil || how != turn.CancelNotFound {
			t.Fatal(how, err)
		}
		select {
		case got := <-done:
			t.Fatalf("the turn ended: %v", got)
		default:
		}
		stop()
		<-done
	})
}

func TestAmbientCancellationIsRecordedAndThenReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hanging)
		ctx, stop := context.WithCancel(context.Background())
		_, _, done := w.start(turn.New(w.cfg), ctx)
		stop()
		got := <-done
		if !errors.Is(got.err, context.Canceled) {
			t.Fatalf("err %v", got.err)
		}
		w.want(got.res, turn.Cancelled, "cancelled")
	})
}

func TestATurnHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hanging)
		w.plan.Timeout = 5 * time.Second
		_, _, done := w.start(turn.New(w.cfg), context.Background())
		got := <-done
		if got.err != nil {
			t.Fatal(got.err)
		}
		w.want(got.res, turn.Failed, "turn_timeout")
	})
}

func TestCloseEndsRunningTurnsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hanging)
		x := turn.New(w.cfg)
		_, _, done := w.start(x, context.Background())
		x.Close()
		select {
		case got := <-done:
			w.want(got.res, turn.Cancelled, "cancelled")
		default:
			synctest.Wait()
			w.want((<-done).res, turn.Cancelled, "cancelled")
		}
		x.Close()
	})
}

func TestACancelledToolCallKeepsHistoryWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
			return call("test.do", "test.do")
		})
		ctx, stop := context.WithCancel(context.Background())
		w.tool = func(context.Context, effect.Call) effect.Outcome {
			stop()
			return effect.Outcome{Status: effect.Cancelled}
		}
		_, session, done := w.start(turn.New(w.cfg), ctx)
		got := <-done
		w.want(got.res, turn.Cancelled, "cancelled")
		stored, err := w.store.Window(t.Context(), w.scope(session, authority.OperatorFacts("look")), session, 10, 1<<20)
		if err != nil || len(stored) != 3 {
			t.Fatalf("%d messages, %v", len(stored), err)
		}
		var last provider.Message
		if err := json.Unmarshal(stored[2].Body, &last); err != nil || len(last.Parts) != 2 {
			t.Fatalf("%s %v", stored[2].Body, err)
		}
	})
}

func TestAnEffectThatMayHaveHappenedMakesTheTurnIndeterminate(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
		return call("test.do", "test.do")
	})
	calls := 0
	w.tool = func(context.Context, effect.Call) effect.Outcome {
		calls++
		return effect.Outcome{Status: effect.Indeterminate, Reason: "call_abandoned"}
	}
	res, err := turn.New(w.cfg).Run(t.Context(), ask("send it"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	w.want(res, turn.Indeterminate, "effect_indeterminate")
	if calls != 1 {
		t.Fatalf("the tool ran %d times", calls)
	}
}

func TestOneEffectWithoutAModelIsATurnToo(t *testing.T) {
	w := newWorld(t, nil)
	w.plan.Model = nil
	res, got, err := turn.New(w.cfg).Call(t.Context(), ask(""), "test.do", []byte(`{}`), turn.Observer{})
	if err != nil || got.Status != effect.Succeeded {
		t.Fatal(got.Status, err)
	}
	w.want(res, turn.Completed, "")
	res, got, err = turn.New(w.cfg).Call(t.Context(), ask(""), "no.such", []byte(`{}`), turn.Observer{})
	if err != nil || got.Status != effect.NotFound {
		t.Fatal(got.Status, err)
	}
	w.want(res, turn.Failed, "effect_not_found")
}

func TestATurnBeyondTheQueueIsRefusedAndLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hanging)
		x := turn.New(w.cfg)
		first, session, done := w.start(x, context.Background())
		again := ask("x")
		again.Selector = turn.Selector{Kind: turn.Resume, Session: session}
		ctx, stop := context.WithCancel(context.Background())
		var waiting sync.WaitGroup
		for range turn.MaxWaitingSession {
			waiting.Go(func() { _, _ = x.Run(ctx, again, turn.Observer{}) })
		}
		synctest.Wait()
		var refused *turn.RejectedError
		if _, err := x.Run(t.Context(), again, turn.Observer{}); !errors.As(err, &refused) || refused.Reason != turn.RejectQueueFull ||
			refused.Sentence != "32 turns wait for this session already: nothing was started; ask again when some have ended" {
			t.Fatalf("%v", err)
		}
		stop()
		waiting.Wait()
		x.Close()
		<-done
		turns, err := w.store.Turns(t.Context(), w.scope(session, authority.OperatorFacts("look")), session, 0, 10)
		if err != nil || len(turns) != 1 || turns[0].ID != first {
			t.Fatalf("%+v, %v", turns, err)
		}
	})
}

func TestATurnOfAnotherProcessIsAskedToEndAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hanging)
		tid, session, done := w.start(turn.New(w.cfg), context.Background())
		elsewhere := turn.New(w.cfg)
		by := w.scope(session, authority.OperatorFacts("stop it"))
		for range 2 {
			if how, err := elsewhere.Cancel(t.Context(), w.store, by, tid); err != nil || how != turn.CancelRequested {
				t.Fatal(how, err)
			}
		}
		asked := time.Now()
		got := <-done
		if got.err != nil || time.Since(asked) > turn.CancelPoll {
			t.Fatal(got.err, time.Since(asked))
		}
		w.want(got.res, turn.Cancelled, "cancelled")
		if how, err := elsewhere.Cancel(t.Context(), w.store, by, tid); err != nil || how != turn.CancelTooLate {
			t.Fatal(how, err)
		}
	})
}

func TestACancelledTurnIsIndeterminateWhenItsEffectMayHaveHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return call("test.do") })
		w.tool = func(ctx context.Context, _ effect.Call) effect.Outcome {
			<-ctx.Done()
			return effect.Outcome{Status: effect.Indeterminate, Reason: "call_abandoned"}
		}
		tid, session, done := w.start(turn.New(w.cfg), context.Background())
		by := w.scope(session, authority.OperatorFacts("stop it"))
		if how, err := turn.New(w.cfg).Cancel(t.Context(), w.store, by, tid); err != nil || how != turn.CancelRequested {
			t.Fatal(how, err)
		}
		w.want((<-done).res, turn.Indeterminate, "effect_indeterminate")
	})
}
