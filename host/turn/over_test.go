package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/memory"
)

// again asks for one more turn of a session.
func again(s id.Session) turn.Request {
	req := ask("and now?")
	req.Selector = turn.Selector{Kind: turn.Resume, Session: s}
	return req
}

// A model that heeds nothing holds neither its turn nor the session nor a shutdown, whoever wanted the turn's end.
func TestAModelThatHeedsNoEndIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		cancel  bool
		within  time.Duration
	}{
		"cancelled":         {timeout: 10 * time.Minute, cancel: true, within: 30 * time.Second},
		"its time was over": {timeout: 10 * time.Minute, within: 10*time.Minute + 30*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				w := newWorld(t, func(_ context.Context, n int, _ provider.Request) (provider.Response, error) {
					if n == 1 {
						<-release
						return call("test.do")
					}
					return say("fine")
				})
				ran := 0
				w.tool = func(context.Context, effect.Call) effect.Outcome {
					ran++
					return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
				}
				w.plan.Timeout = c.timeout
				x, began := turn.New(w.cfg), time.Now()
				ctx, stop := context.WithCancel(t.Context())
				tid, session, done := w.start(x, ctx)
				if c.cancel {
					by := w.scope(session, authority.OperatorFacts("stop it"))
					if how, err := x.Cancel(t.Context(), w.store, by, tid); err != nil || how != turn.CancelDone {
						t.Fatal(how, err)
					}
				}
				got := <-done
				stop()
				if took := time.Since(began); got.err != nil || took > c.within {
					t.Fatal(took, got.err)
				}
				w.want(got.res, turn.Indeterminate, "cleanup_unconfirmed")
				res, err := x.Run(t.Context(), again(session), turn.Observer{})
				if err != nil || res.Outcome() != turn.Completed {
					t.Fatal(res.Sentence(), err)
				}
				before := w.record(got.res)
				close(release) // it answers after all, and what it asks for does not run
				synctest.Wait()
				x.Close()
				if now := w.record(got.res); now != before || ran != 0 {
					t.Errorf("%d effects ran: %+v", ran, now)
				}
			})
		})
	}
}

// What a turn that is given up had done is on record, and its result says so.
func TestATurnThatIsGivenUpSaysWhatItDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		w := newWorld(t, func(_ context.Context, n int, _ provider.Request) (provider.Response, error) {
			if n == 3 {
				<-release
				return say("too late")
			}
			resp, err := call("test.do")
			resp.Usage = provider.Usage{Input: 100, Output: 10, CacheRead: 3, CacheWrite: 1, Reported: true}
			return resp, err
		})
		w.tool = func(context.Context, effect.Call) effect.Outcome {
			return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
		}
		w.plan.Timeout = time.Minute
		res, err := turn.New(w.cfg).Run(t.Context(), ask("x"), turn.Observer{})
		if err != nil {
			t.Fatal(err)
		}
		w.want(res, turn.Indeterminate, "cleanup_unconfirmed")
		want := turn.Usage{Input: 200, Output: 20, CacheRead: 6, CacheWrite: 2}
		if res.Steps() != 3 || res.Usage() != want || len(res.Effects()) != 2 {
			t.Errorf("%d steps, %+v, %d effects", res.Steps(), res.Usage(), len(res.Effects()))
		}
		if rec := w.record(res); rec.Steps != 3 || rec.Usage != want {
			t.Errorf("recorded as %+v", rec)
		}
	})
}

// A tool that heeds nothing leaves its effect and its turn uncertain, and nobody is told anything of the turn once it is over.
func TestAToolThatHeedsNoEndIsUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return call("test.do") })
		release := make(chan struct{})
		once := sync.OnceFunc(func() { close(release) })
		w.tool = func(context.Context, effect.Call) effect.Outcome {
			<-release
			return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
		}
		w.plan.Timeout = time.Minute
		var over atomic.Bool
		late := 0
		x := turn.New(w.cfg)
		res, err := x.Run(t.Context(), ask("x"), turn.Observer{Effect: func(effect.Result) {
			if over.Load() {
				late++
			}
		}})
		over.Store(true)
		if err != nil {
			t.Fatal(err)
		}
		w.want(res, turn.Indeterminate, "cleanup_unconfirmed")
		by := w.scope(res.Session(), authority.OperatorFacts("look"))
		for range 2 { // also when the tool comes to its end
			all, err := w.store.Effects(t.Context(), by, res.Turn())
			if err != nil || len(all) != 1 || all[0].Status != effect.Indeterminate {
				t.Fatalf("%+v, %v", all, err)
			}
			once()
			synctest.Wait()
		}
		if late != 0 {
			t.Error("it was told of an effect after its turn")
		}
	})
}

// The one effect of a direct call is given up too.
func TestACallThatHeedsNoEndIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		release := make(chan struct{})
		w.tool = func(context.Context, effect.Call) effect.Outcome {
			<-release
			return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
		}
		w.plan.Timeout = time.Minute
		res, got, err := turn.New(w.cfg).Call(t.Context(), ask("x"), "test.do", []byte(`{}`), turn.Observer{})
		if err != nil || got.Status != "" {
			t.Fatal(got.Status, err)
		}
		w.want(res, turn.Indeterminate, "cleanup_unconfirmed")
		close(release)
		synctest.Wait()
	})
}

// While a machine sleeps its clock goes on, and no timer of a process does: when it wakes, the claims of its turns may be over.
func TestTurnsThatSleptThroughTheirClaimsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slept, woke := new(atomic.Int64), make(chan struct{})
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
			<-woke
			return say("good morning")
		})
		clock := func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
		w.store = memory.New(memory.Config{Clock: clock, IDs: w.ids})
		w.over(clock)
		x := turn.New(w.cfg)
		_, session, first := w.start(x, t.Context())
		_, _, second := w.start(x, t.Context())
		slept.Store(int64(8 * time.Hour))
		close(woke)
		for _, done := range []<-chan ended{first, second} {
			got := <-done
			if got.err != nil {
				t.Fatal(got.err)
			}
			w.want(got.res, turn.Lost, turn.ReasonLeaseExpired)
		}
		res, err := x.Run(t.Context(), again(session), turn.Observer{})
		if err != nil || res.Outcome() != turn.Completed {
			t.Fatal(res.Sentence(), err)
		}
	})
}

// A turn whose end the store did not take is ended by the host that runs on, when its claim is over.
func TestATurnWithoutAnEndGetsOneWhileItsHostRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("x") })
		w.cfg.Journal = failingFinish{w.store}
		w.plan.Timeout = time.Minute
		x := turn.New(w.cfg)
		_, session, done := w.start(x, t.Context())
		got := <-done
		var broken *turn.InfrastructureError
		if !errors.As(got.err, &broken) {
			t.Fatal(got.err)
		}
		by := w.scope(session, authority.OperatorFacts("look"))
		state := func() turn.State {
			rec, found, err := w.store.Turn(t.Context(), by, broken.Turn)
			if err != nil || !found {
				t.Fatal(found, err)
			}
			return rec.State
		}
		if is := state(); is != turn.Running {
			t.Fatal(is)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if is := state(); is != turn.State(turn.Lost) {
			t.Error(is)
		}
		x.Close()
	})
}

// A host that is closed leaves a turn without an end to the next one, and waits for nothing.
func TestACloseDoesNotWaitForAClaimToBeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("x") })
		w.cfg.Journal = failingFinish{w.store}
		x, began := turn.New(w.cfg), time.Now()
		_, _, done := w.start(x, t.Context())
		<-done
		x.Close()
		if took := time.Since(began); took != 0 {
			t.Error(took)
		}
	})
}
