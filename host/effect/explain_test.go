package effect_test

import (
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy"
	"github.com/b3abf3ee/portcullis/policy/approval"
)

func TestAnExplanationShowsThePlanAndRunsAsksAndRecordsNothing(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	r := script(t)
	one := asking(r)
	x := f.runtime.Explain(t.Context(), f.catalog(effect.Setup{}, one), "run.it", []byte(`{"n":1}`))
	if x.Policy.Action != policy.Ask || x.Arguments != (effect.Objection{}) || x.Planned != (effect.Objection{}) {
		t.Errorf("explained as %+v", x)
	}
	if !strings.Contains(string(x.Plan), `"/bin/sh"`) || !strings.Contains(string(x.Plan), "sha256") {
		t.Errorf("plan %s", x.Plan)
	}
	if r.plans != 1 || r.closed != 1 || r.ran != 0 || len(f.asked) != 0 {
		t.Errorf("%d plans, %d closed, %d runs, %d questions", r.plans, r.closed, r.ran, len(f.asked))
	}
	if len(*f.journal.order) != 0 {
		t.Errorf("on record: %v", *f.journal.order)
	}
	r.refuse = effect.Objection{Reason: "not_a_program", Why: "it is no program"}
	if x := f.runtime.Explain(t.Context(), f.catalog(effect.Setup{}, one), "run.it", []byte(`{"n":1}`)); x.Planned.Reason != "not_a_program" || x.Plan != nil {
		t.Errorf("an objection is explained as %+v, plan %s", x.Planned, x.Plan)
	}
}

func TestAnExplanationPlansOnlyWhatWouldGetThere(t *testing.T) {
	for name, c := range map[string]struct {
		grants    []string
		arguments string
		reason    string
	}{
		"no arguments":    {[]string{"tool.call:*"}, ``, ""},
		"wrong arguments": {[]string{"tool.call:*"}, `{"n":`, "arguments_"},
		"no capability":   {nil, `{"n":1}`, ""},
	} {
		f := newFixture(t, c.grants...)
		r := script(t)
		x := f.runtime.Explain(t.Context(), f.catalog(effect.Setup{}, asking(r)), "run.it", []byte(c.arguments))
		if r.plans != 0 || x.Plan != nil || !strings.HasPrefix(x.Arguments.Reason, c.reason) || (x.Arguments.Reason == "") != (c.reason == "") {
			t.Errorf("%s: %d plans, %+v", name, r.plans, x)
		}
		if len(x.Approval.Trace) == 0 || x.Approval.Mode != approval.Prompt {
			t.Errorf("%s: the approval rules say %+v", name, x.Approval)
		}
	}
	f := newFixture(t)
	if x := f.runtime.Explain(t.Context(), f.catalog(effect.Setup{}), "no.tool", nil); x.Found || x.Tool != "no.tool" {
		t.Errorf("explained as %+v", x)
	}
}
