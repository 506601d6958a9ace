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
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// ordered tells when a request to end a turn is stored, and what comes of it when refuses is set.
type ordered struct {
	turn.Journal
	tell    func(string)
	refuses error
}

func (o ordered) RequestCancel(ctx context.Context, by principal.Scope, t id.Turn, r event.Record) (turn.Cancelling, error) {
	synctest.Wait() // whoever was told already says so now
	o.tell("stored")
	if o.refuses != nil {
		return "", o.refuses
	}
	return o.Journal.RequestCancel(ctx, by, t, r)
}

// ways are the ways in which the end of a turn comes. Each returns when the turn was told.
func ways() map[string]func(w *world, x *turn.Execution, stop func(), t id.Turn, s id.Session) {
	return map[string]func(w *world, x *turn.Execution, stop func(), t id.Turn, s id.Session){
		"request": func(w *world, x *turn.Execution, _ func(), t id.Turn, s id.Session) {
			by := w.scope(s, authority.OperatorFacts("stop it"))
			if how, err := x.Cancel(context.Background(), w.store, by, t); err != nil || how != turn.CancelDone {
				w.t.Error(how, err)
			}
		},
		"caller_gone": func(_ *world, _ *turn.Execution, stop func(), _ id.Turn, _ id.Session) { stop() },
		"host_closed": func(_ *world, x *turn.Execution, _ func(), _ id.Turn, _ id.Session) { x.Close() },
	}
}

// However the end of a turn comes, it is on record, once and before the turn's own end. A host that is killed before that
// end is written leaves a cancelled turn.
func TestACancelOutlivesAHostThatIsKilled(t *testing.T) {
	for why, end := range ways() {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, hanging)
				w.cfg.Journal = failingFinish{w.store}
				x := turn.New(w.cfg)
				ctx, stop := context.WithCancel(context.Background())
				defer stop()
				tid, session, done := w.start(x, ctx)
				end(w, x, stop, tid, session)
				<-done
				x.Close()
				by := w.scope(session, authority.OperatorFacts("look"))
				asked, err := w.store.Events(t.Context(), by, turn.EventQuery{Turn: tid, Kind: event.TurnCancelAsked, Limit: 10})
				if err != nil || len(asked) != 1 || asked[0].Principal != authority.OperatorID || why != "request" && asked[0].Field("why") != why {
					t.Errorf("%+v, %v", asked, err)
				}
				got, err := w.store.Recover(t.Context(), w.ids.Epoch(), time.Now())
				if err != nil || len(got) != 1 || got[0].Turn != tid || got[0].Outcome != turn.Cancelled {
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// A request is stored before the turn is told. A store that refuses it keeps nobody from ending the turn.
func TestACancelIsStoredBeforeTheTurnIsTold(t *testing.T) {
	for name, refuses := range map[string]error{"stored": nil, "not stored": errors.New("disk full")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var order []string
				tell := func(what string) {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, what)
				}
				w := newWorld(t, func(ctx context.Context, n int, req provider.Request) (provider.Response, error) {
					<-ctx.Done()
					tell("told")
					return hanging(ctx, n, req)
				})
				w.cfg.Journal = ordered{w.store, tell, refuses}
				x := turn.New(w.cfg)
				tid, session, done := w.start(x, context.Background())
				ways()["request"](w, x, nil, tid, session)
				w.want((<-done).res, turn.Cancelled, "cancelled")
				if fmt.Sprint(order) != "[stored told]" {
					t.Error(order)
				}
				if asked, err := w.store.CancelRequested(t.Context(), tid); err != nil || !asked {
					t.Error(asked, err)
				}
			})
		})
	}
}
