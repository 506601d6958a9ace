package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// narrow is a model with a small window.
type narrow struct{ model }

func (narrow) Limits() provider.Limits {
	return provider.Limits{ContextWindow: 8192, MaxOutput: 1000, SafetyMargin: 800, Tokenizer: provider.TokenizerEstimate}
}

// news are the ends that no turn was told of yet.
type news struct{ left []turn.Notice }

func (n *news) Untold(_ context.Context, _ principal.Scope, _ id.Session, limit int) ([]turn.Notice, error) {
	return n.left[:min(limit, len(n.left))], nil
}

func (n *news) Tell(_ context.Context, _ id.Turn, _ lease.Claim, _ turn.Message, of []id.Task) (turn.Fenced, error) {
	for i, t := range of {
		if n.left[i].Task != t {
			return "", fmt.Errorf("%s is told before %s", t, n.left[i].Task)
		}
	}
	n.left = n.left[len(of):]
	return turn.Written, nil
}

// told is a small world that has news, and what the model of its last turn read of them.
func told(t *testing.T, of *news, known ...redact.Secret) (run func() string) {
	t.Helper()
	w := newWorld(t, func(context.Context, int, provider.Request) (provider.Response, error) { return say("I see.") })
	set, err := redact.Set{}.With(known...)
	if err != nil {
		t.Fatal(err)
	}
	w.plan.Model, w.plan.Setup.Known, w.cfg.Notices = narrow{w.plan.Model.(model)}, set, of
	x := turn.New(w.cfg)
	return func() string {
		t.Helper()
		res, err := x.Run(t.Context(), ask("go"), turn.Observer{})
		if err != nil {
			t.Fatal(err)
		}
		w.want(res, turn.Completed, "")
		messages := w.shown[len(w.shown)-1].Messages
		if last := messages[len(messages)-1].Text(); strings.Contains(last, "From the host") {
			return last
		}
		return ""
	}
}

// However much has ended, a turn of a model with a small window takes place, and every end is told in some turn.
func TestATurnIsToldAsMuchAsItsModelHasRoomFor(t *testing.T) {
	of := &news{}
	for i := range 22 {
		size := 3700
		if i%2 == 1 {
			size = 300
		}
		of.left = append(of.left, turn.Notice{
			Task: id.Task(fmt.Sprintf("tsk_%02d", i)), Title: "build", State: "succeeded", Summary: strings.Repeat("ok ß\n", size/6), Ended: time.Unix(0, 0),
		})
	}
	run := told(t, of)
	var all string
	turns := 0
	for len(of.left) > 0 {
		before := len(of.left)
		text := run()
		if len(text) > 2048 || !strings.HasPrefix(text, "[From the host") || len(of.left) == before {
			t.Fatalf("%d bytes for %d of %d: %s", len(text), before-len(of.left), before, text)
		}
		all, turns = all+text, turns+1
	}
	for i := range 22 {
		if n := strings.Count(all, fmt.Sprintf("tsk_%02d", i)); n != 1 {
			t.Errorf("task %d is told %d times", i, n)
		}
	}
	if n := strings.Count(all, "is left out here"); n != 11 || turns > 22 {
		t.Errorf("%d are cut in %d turns", n, turns)
	}
	if last := run(); last != "" {
		t.Errorf("told again: %s", last)
	}
}

// A secret that stands where a summary is cut is hidden first.
func TestWhatIsCutOfANoticeWasHiddenFirst(t *testing.T) {
	const secret = "s3cr3t-of-which-no-part-is-shown"
	of := &news{}
	run := told(t, of, redact.NewSecret("TOKEN", secret))
	for n := 1600; n < 2100; n += len(secret) / 4 {
		of.left = []turn.Notice{{Task: "tsk_1", State: "failed", Summary: strings.Repeat("x", n) + secret + strings.Repeat("y", 2000)}}
		if text := run(); text == "" || strings.Contains(text, secret[:8]) {
			t.Errorf("at %d: %q", n, text[max(0, len(text)-120):])
		}
	}
}
