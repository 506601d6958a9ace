package turn_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/prompt"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/redact"
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

// noting keeps the names by which vendors know their requests.
type noting struct {
	prompt.Journal
	requests *[]string
}

func (n noting) Observe(ctx context.Context, o prompt.Observation) (prompt.Kept, error) {
	*n.requests = append(*n.requests, o.RequestID)
	return n.Journal.Observe(ctx, o)
}

// What a vendor calls a request is its own text: what is secret in it is hidden before it is cut, wherever the cut falls.
func TestAVendorsRequestIDShowsNoSecret(t *testing.T) {
	const secret, limit = "correct-horse-battery-staple", 256
	var vendor string
	var requests []string
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
		resp, err := say("done")
		resp.ProviderRequestID = vendor
		return resp, err
	})
	var err error
	if w.plan.Setup.Known, err = (redact.Set{}).With(redact.NewSecret("KEY", secret)); err != nil {
		t.Fatal(err)
	}
	w.cfg.Context = prompt.New(prompt.Config{Journal: noting{w.store, &requests}, IDs: w.ids, Epoch: id.Epoch("epo_x"), Clock: time.Now})
	run := turn.New(w.cfg)
	for before := limit - len(secret); before <= limit; before += 4 {
		vendor = strings.Repeat("x ", before)[:before] + secret + " and more"
		res, err := run.Run(t.Context(), ask("go"), turn.Observer{})
		if err != nil {
			t.Fatal(err)
		}
		w.want(res, turn.Completed, "")
		if is := requests[len(requests)-1]; strings.Contains(is, secret[:4]) || len(is) > limit || !strings.HasPrefix(is, "x x ") {
			t.Errorf("with %d bytes before it: %q", before, is)
		}
	}
}

// A vendor's sentence of an error is its own text, too: neither the cut nor the squeezing of white space spoils the look
// for what is secret in it.
func TestAVendorsSentenceShowsNoSecret(t *testing.T) {
	const secret = "correct horse  battery\nstaple"
	var vendor string
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
		return provider.Response{}, &provider.Error{Kind: provider.KindRefused, Sentence: provider.Scrub("no; the server said: " + vendor)}
	})
	var err error
	if w.plan.Setup.Known, err = (redact.Set{}).With(redact.NewSecret("KEY", secret)); err != nil {
		t.Fatal(err)
	}
	run := turn.New(w.cfg)
	for _, before := range []int{0, 240, 270, 280, 290, 1000, 1970, 1980, 1990, 2000, 2010, 2020, 2030, 2040, 9000} {
		vendor = strings.Repeat("x ", before)[:before] + secret + " and more"
		res, err := run.Run(t.Context(), ask("go"), turn.Observer{})
		if err != nil {
			t.Fatal(err)
		}
		w.want(res, turn.Failed, "provider_refused")
		scope, err := w.cfg.Authority.Session(t.Context(), authority.OperatorFacts("look"), res.Session())
		if err != nil {
			t.Fatal(err)
		}
		ended, err := w.store.Events(t.Context(), scope, turn.EventQuery{Turn: res.Turn(), Kind: event.TurnFinished, Limit: 10})
		if err != nil || len(ended) != 1 {
			t.Fatal(ended, err)
		}
		for _, is := range []string{res.Sentence(), ended[0].Field("why")} {
			if strings.Contains(is, "correct") || strings.Contains(is, "staple") || !strings.Contains(is, "the server said: ") || len(is) > 2048+len("...") {
				t.Errorf("with %d bytes before it: %d bytes, %q", before, len(is), is[max(0, len(is)-60):])
			}
		}
	}
}

// A request that a model took to be too large is not sent to it a second time: the next turn says itself that it does not fit.
func TestAModelThatFindsARequestTooLargeIsNotAskedItAgain(t *testing.T) {
	asked := 0
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) {
		asked++
		return provider.Response{}, &provider.Error{Kind: provider.KindContextOverflow, Provider: "test"}
	})
	w.plan.System = strings.Repeat("Some words of a system prompt. ", 6_000)
	x := turn.New(w.cfg)
	for n, want := range []string{"provider_context_overflow", "context_overflow", "context_overflow", "context_overflow", "context_overflow"} {
		res, err := x.Run(t.Context(), ask(strings.Repeat("x", n)+"go"), turn.Observer{})
		if err != nil {
			t.Fatal(err)
		}
		if w.want(res, turn.Failed, want); asked != 1 {
			t.Fatalf("asked %d times", asked)
		}
	}
}
