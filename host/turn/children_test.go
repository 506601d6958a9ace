package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// child has a turn do a part of the work of the one that makes the call.
func (w *world) child(ctx context.Context, x *turn.Execution, c effect.Call) (turn.Result, error) {
	actor, err := w.cfg.Authority.(*authority.Resolver).Child(ctx, c.Turn.Principal(), c.Turn.ID(), w.ids.Effect())
	if err != nil {
		w.t.Error(err)
	}
	return x.Run(ctx, turn.Request{
		Actor: actor, Core: "assistant", Input: "help", Selector: turn.Selector{Kind: turn.Fresh}, Parent: &turn.Parent{Turn: c.Turn, Setup: c.Setup()},
	}, turn.Observer{})
}

// helping reports whether a child's turn asks.
func helping(req provider.Request) bool { return req.Messages[0].Text() == "help" }

func done() effect.Outcome {
	return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{"done":true}`)}
}

// why is the reason of a rejection.
func why(err error) string {
	var no *turn.RejectedError
	if errors.As(err, &no) {
		return no.Reason
	}
	return ""
}

func TestAChildHasTheStepsThatItsParentHasLeft(t *testing.T) {
	w := newWorld(t, func(_ context.Context, _ int, req provider.Request) (provider.Response, error) {
		return call("test.do")
	})
	w.plan.MaxSteps = 5
	x := turn.New(w.cfg)
	var ends []string
	w.tool = func(ctx context.Context, c effect.Call) effect.Outcome {
		if c.Turn.Principal().ParentTurn() == "" {
			res, err := w.child(ctx, x, c)
			ends = append(ends, res.Reason()+res.Sentence()+why(err))
		}
		return done()
	}
	if res, err := x.Run(t.Context(), ask("go"), turn.Observer{}); err != nil || res.Reason() != "step_limit" {
		t.Fatal(res.Sentence(), err)
	}
	for n, want := range []string{"all its 4 steps", "all its 3 steps", "all its 2 steps", "all its 1 steps", turn.RejectCount} {
		if len(ends) <= n || !strings.Contains(ends[n], want) {
			t.Errorf("child %d: %q, want %q", n+1, ends, want)
		}
	}
}

func TestAChildHasTheTimeThatItsParentHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(ctx context.Context, _ int, req provider.Request) (provider.Response, error) {
			if helping(req) {
				<-ctx.Done()
				return provider.Response{}, ctx.Err()
			}
			select { // the child's last instant is its parent's too: whichever is seen first, no model waits past it
			case <-ctx.Done():
				return provider.Response{}, ctx.Err()
			case <-time.After(40 * time.Second): // the bubble's
				return call("test.do")
			}
		})
		w.plan.Timeout = time.Minute
		x := turn.New(w.cfg)
		sentence := ""
		w.tool = func(ctx context.Context, c effect.Call) effect.Outcome {
			res, _ := w.child(ctx, x, c)
			sentence = res.Sentence()
			return done()
		}
		if res, err := x.Run(t.Context(), ask("go"), turn.Observer{}); err != nil || res.Reason() != "turn_timeout" {
			t.Fatal(res.Reason(), err)
		}
		if !strings.Contains(sentence, "time of 20s is over") {
			t.Errorf("the child's turn ended: %q", sentence)
		}
	})
}

// Whoever asks for them, a turn has so many children, so many at once, and none once it is over.
func TestWhoWorksForATurnIsBounded(t *testing.T) {
	atWork, release := make(chan struct{}, turn.MaxChildren), make(chan struct{})
	w := newWorld(t, func(_ context.Context, _ int, req provider.Request) (provider.Response, error) {
		if helping(req) {
			atWork <- struct{}{}
			<-release
			return say("helped")
		}
		if len(req.Messages) > 1 {
			return say("done")
		}
		return call("test.do")
	})
	x := turn.New(w.cfg)
	var over effect.Call
	w.tool = func(ctx context.Context, c effect.Call) effect.Outcome {
		over = c
		var two sync.WaitGroup
		for range turn.MaxChildrenAtOnce {
			two.Go(func() {
				if _, err := w.child(ctx, x, c); err != nil {
					t.Error(err)
				}
			})
		}
		for range turn.MaxChildrenAtOnce {
			<-atWork
		}
		if _, err := w.child(ctx, x, c); why(err) != turn.RejectCrowd {
			t.Errorf("a third at once: %v", err)
		}
		close(release)
		two.Wait()
		for range turn.MaxChildren - turn.MaxChildrenAtOnce {
			if _, err := w.child(ctx, x, c); err != nil {
				t.Error(err)
			}
		}
		if _, err := w.child(ctx, x, c); why(err) != turn.RejectCount {
			t.Errorf("one more: %v", err)
		}
		return done()
	}
	if res, err := x.Run(t.Context(), ask("go"), turn.Observer{}); err != nil || res.Outcome() != turn.Completed {
		t.Fatal(res.Sentence(), err)
	}
	if _, err := w.child(t.Context(), x, over); why(err) != turn.RejectParent {
		t.Errorf("a child of a turn that is over: %v", err)
	}
}

func TestThereAreTwoGenerations(t *testing.T) {
	w := newWorld(t, func(_ context.Context, _ int, req provider.Request) (provider.Response, error) {
		if len(req.Messages) > 1 {
			return say("done")
		}
		return call("test.do")
	})
	x := turn.New(w.cfg)
	var ends []string
	w.tool = func(ctx context.Context, c effect.Call) effect.Outcome {
		res, err := w.child(ctx, x, c)
		ends = append(ends, string(res.Outcome())+why(err))
		return done()
	}
	if _, err := x.Run(t.Context(), ask("go"), turn.Observer{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ends, " "); got != turn.RejectDepth+" completed completed" {
		t.Errorf("from the inside out: %q", got)
	}
}
