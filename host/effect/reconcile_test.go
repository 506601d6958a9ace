package effect_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// telling is a tool that runs as its adapter does and says what became of a call.
type telling struct {
	adapter
	tell  func(context.Context, effect.Call) effect.Reconciliation
	asked *[]effect.Call
}

func (a telling) Reconcile(ctx context.Context, c effect.Call) effect.Reconciliation {
	*a.asked = append(*a.asked, c)
	return a.tell(ctx, c)
}

// uncertain runs a call whose end is lost, and returns it as a later host finds it with the tool that ran it.
func (f *fixture) uncertain(t *testing.T, arguments string, tell func(context.Context, effect.Call) effect.Reconciliation, known ...redact.Secret) (effect.Unsettled, effect.Tool, *[]effect.Call) {
	t.Helper()
	var asked []effect.Call
	lost := telling{func(context.Context, effect.Call) effect.Outcome {
		return effect.Outcome{Status: effect.Indeterminate, Reason: "host_gone"}
	}, tell, &asked}
	one := tool("mail.send", lost)
	one.Recovery, one.Plugin, one.Version = "reconcile", "mail", "1.0.0"
	set, err := redact.Set{}.With(known...)
	if err != nil {
		t.Fatal(err)
	}
	c := f.catalog(effect.Setup{Known: set}, one)
	if got := f.execute(t.Context(), c, "mail.send", arguments); got.Status != effect.Indeterminate {
		t.Fatalf("%+v", got)
	}
	open, err := f.store.Unsettled(t.Context(), f.turn.ID())
	if err != nil || len(open) != 1 {
		t.Fatalf("%+v, %v", open, err)
	}
	return open[0], one, &asked
}

func committed(reference string) func(context.Context, effect.Call) effect.Reconciliation {
	return func(context.Context, effect.Call) effect.Reconciliation {
		return effect.Reconciliation{Answer: effect.AnswerCommitted, Reference: reference}
	}
}

// stored is the effect as history shows it.
func (f *fixture) stored(t *testing.T, u effect.Unsettled) effect.Record {
	t.Helper()
	all, err := f.store.Effects(t.Context(), f.turn.Principal(), u.Turn)
	i := slices.IndexFunc(all, func(e effect.Record) bool { return e.ID == u.ID })
	if err != nil || i < 0 {
		t.Fatal(all, err)
	}
	return all[i]
}

func TestATellingToolIsAskedAboutTheVeryCall(t *testing.T) {
	for answer, want := range map[effect.Answer]effect.Verdict{effect.AnswerCommitted: effect.Happened, effect.AnswerNotFound: effect.NotHappened} {
		f := newFixture(t, "tool.call:*")
		u, one, asked := f.uncertain(t, `{"key":"ann","n":1}`, func(context.Context, effect.Call) effect.Reconciliation {
			return effect.Reconciliation{Answer: answer}
		})
		got := f.runtime.Reconcile(t.Context(), u, f.turn, f.catalog(effect.Setup{}, one))
		if got.Answer != answer || got.Resolution.Verdict != want || got.Resolution.By != "plugin:mail@1.0.0" {
			t.Errorf("%s: %+v", answer, got)
		}
		c := (*asked)[0]
		if len(*asked) != 1 || c.Effect != u.ID || string(c.Arguments) != `{"key":"ann","n":1}` || !c.Looks || c.Turn.ID() != u.Turn || c.Deadline.IsZero() {
			t.Errorf("%s: asked %+v", answer, *asked)
		}
		if e := f.stored(t, u); e.Status != effect.Indeterminate || e.Resolution.Verdict != want {
			t.Errorf("%s: stored %+v", answer, e)
		}
		again := f.runtime.Reconcile(t.Context(), u, f.turn, f.catalog(effect.Setup{}, one))
		if !again.Before || again.Resolution.Verdict != "" || f.stored(t, u).Resolution.Verdict != want {
			t.Errorf("%s: again %+v", answer, again)
		}
		recs, err := f.store.Events(t.Context(), f.turn.Principal(), turn.EventQuery{Kind: event.EffectUnsettled, Limit: 10})
		if err != nil || len(recs) != 0 {
			t.Errorf("%s: on record as unsettled: %+v, %v", answer, recs, err)
		}
	}
}

// Whatever is not certain leaves the effect to a person, and why is on record.
func TestWhatIsNotCertainSettlesNothing(t *testing.T) {
	changed := func(do func(*effect.Tool)) func(*fixture, *effect.Tool, *effect.Unsettled) {
		return func(_ *fixture, one *effect.Tool, _ *effect.Unsettled) { do(one) }
	}
	unknown := func(context.Context, effect.Call) effect.Reconciliation {
		return effect.Reconciliation{Answer: effect.AnswerUnknown, Reason: "tool_unknown"}
	}
	for reason, c := range map[string]struct {
		tell   func(context.Context, effect.Call) effect.Reconciliation
		change func(*fixture, *effect.Tool, *effect.Unsettled)
		asked  bool
	}{
		"tool_unknown":                     {unknown, nil, true},
		"adapter_panic":                    {func(context.Context, effect.Call) effect.Reconciliation { panic("no") }, nil, true},
		"adapter_status":                   {func(context.Context, effect.Call) effect.Reconciliation { return effect.Reconciliation{Answer: "sent"} }, nil, true},
		"tool_gone":                        {committed(""), changed(func(one *effect.Tool) { one.Name = "mail.other" }), false},
		"tool_changed":                     {committed(""), changed(func(one *effect.Tool) { one.Version = "1.0.1" }), false},
		"tool_changed of another recovery": {committed(""), changed(func(one *effect.Tool) { one.Recovery = "manual" }), false},
		"cannot_tell":                      {committed(""), changed(func(one *effect.Tool) { one.Adapter = succeed(`{}`) }), false},
		"workspace_gone":                   {committed(""), changed(func(one *effect.Tool) { one.Files = true }), false},
		"not_allowed":                      {committed(""), changed(func(one *effect.Tool) { one.Approval = approval.Deny }), false},
		"no_secret":                        {committed(""), changed(func(one *effect.Tool) { one.Needs = append(one.Needs, mustName("secret.bind:TOKEN")) }), false},
		"arguments_gone":                   {committed(""), func(_ *fixture, _ *effect.Tool, u *effect.Unsettled) { u.Arguments = []byte(`{"key":"bob"}`) }, false},
	} {
		t.Run(reason, func(t *testing.T) {
			f := newFixture(t, "tool.call:*", "secret.bind:TOKEN")
			u, one, asked := f.uncertain(t, `{"key":"ann"}`, c.tell)
			f.granting("mail", true, "secret.bind:TOKEN")
			if c.change != nil {
				c.change(f, &one, &u)
			}
			got := f.runtime.Reconcile(t.Context(), u, f.turn, f.catalog(effect.Setup{}, one))
			want, _, _ := strings.Cut(reason, " ")
			if got.Answer != effect.AnswerUnknown || got.Reason != want || got.Resolution.Verdict != "" {
				t.Errorf("%+v", got)
			}
			if (len(*asked) > 0) != c.asked {
				t.Errorf("asked %d times", len(*asked))
			}
			if e := f.stored(t, u); e.Resolution.Verdict != "" || e.Status != effect.Indeterminate {
				t.Errorf("%+v", e)
			}
			recs, err := f.store.Events(t.Context(), f.turn.Principal(), turn.EventQuery{Kind: event.EffectUnsettled, Limit: 10})
			if err != nil || len(recs) != 1 || recs[0].Field("reason") != want || recs[0].Effect != u.ID {
				t.Errorf("%+v, %v", recs, err)
			}
		})
	}
}

// A secret in the arguments is not kept, so nobody can be asked about that very call, and not about another.
func TestArgumentsThatWereHiddenAreNotAskedAbout(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	u, one, asked := f.uncertain(t, `{"key":"s3cr3t-of-the-mail"}`, committed(""), redact.NewSecret("TOKEN", "s3cr3t-of-the-mail"))
	if strings.Contains(string(u.Arguments), "s3cr3t") {
		t.Fatalf("kept %s", u.Arguments)
	}
	got := f.runtime.Reconcile(t.Context(), u, f.turn, f.catalog(effect.Setup{}, one))
	if got.Reason != effect.ReasonArguments || len(*asked) != 0 {
		t.Errorf("%+v, asked %d times", got, len(*asked))
	}
}

func TestAReferenceIsHiddenLikeAnyResult(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	known, err := redact.Set{}.With(redact.NewSecret("TOKEN", "s3cr3t-of-the-mail"))
	if err != nil {
		t.Fatal(err)
	}
	u, one, _ := f.uncertain(t, `{}`, committed("https://mail.example/?t=s3cr3t-of-the-mail"))
	got := f.runtime.Reconcile(t.Context(), u, f.turn, f.catalog(effect.Setup{Known: known}, one))
	if got.Resolution.Verdict != effect.Happened || got.Resolution.Reference == "" || strings.Contains(got.Resolution.Reference, "s3cr3t") {
		t.Errorf("%+v", got)
	}
}

// A tool that does not come back is stopped at the effect's deadline.
func TestAskingHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "tool.call:*")
		u, one, _ := f.uncertain(t, `{}`, func(ctx context.Context, _ effect.Call) effect.Reconciliation {
			<-ctx.Done()
			return effect.Reconciliation{Answer: effect.AnswerUnknown, Reason: "timed_out"}
		})
		before := time.Now()
		got := f.runtime.Reconcile(t.Context(), u, f.turn, f.catalog(effect.Setup{Timeout: 3 * time.Second}, one))
		if took := time.Since(before); got.Reason != "timed_out" || took != 3*time.Second {
			t.Errorf("%+v after %s", got, took)
		}
	})
}
