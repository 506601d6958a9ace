package turn_test

import (
	"context"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// misfiling is a store that takes every observation under a session that there is not, and so loses it when it writes.
type misfiling struct{ prompt.Journal }

func (m misfiling) Observe(ctx context.Context, o prompt.Observation) (prompt.Kept, error) {
	o.Session = "ses_none"
	return m.Journal.Observe(ctx, o)
}

// ends counts how often a turn's end was written or tried.
type ends struct {
	turn.Journal
	n int
}

func (e *ends) Finish(ctx context.Context, t turn.Terminal, r event.Record) (turn.Fenced, error) {
	e.n++
	return e.Journal.Finish(ctx, t, r)
}

func TestALostReportTakesNothingFromTheAnswerAndIsOnRecord(t *testing.T) {
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("done") })
	tried := &ends{Journal: w.store}
	w.cfg.Journal = tried
	w.cfg.Context = prompt.New(prompt.Config{Journal: misfiling{w.store}, IDs: w.ids, Epoch: id.Epoch("epo_x"), Clock: time.Now})
	res, err := turn.New(w.cfg).Run(t.Context(), ask("go"), turn.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	w.want(res, turn.Completed, "")
	if tried.n != 2 {
		t.Errorf("the end was written at the %dth time", tried.n)
	}
	scope, err := w.cfg.Authority.Session(t.Context(), authority.OperatorFacts("look"), res.Session())
	if err != nil {
		t.Fatal(err)
	}
	ended, err := w.store.Events(t.Context(), scope, turn.EventQuery{Turn: res.Turn(), Kind: event.TurnFinished, Limit: 10})
	if err != nil || len(ended) != 1 || ended[0].Field("context") != "degraded" {
		t.Errorf("%+v, %v", ended, err)
	}
}
