package host

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/host/task"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// A run that was told to end has nothing uncertain hidden by that.
func TestACancelledRunHidesNothingUncertain(t *testing.T) {
	h := &Host{cfg: Config{Home: t.TempDir()}}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for want, err := range map[string]error{
		"turn_uncertain":     &turn.InfrastructureError{Doing: "store the end", Err: errors.New("the disk is full")},
		task.ReasonCancelled: &turn.RejectedError{Reason: turn.RejectCancelled},
	} {
		if out := h.fired(over, turn.Result{}, err); out.Reason != want || (out.State == task.Cancelled) != (want == task.ReasonCancelled) {
			t.Errorf("%v: %+v", err, out)
		}
	}
}

// noted is the control of a task that keeps what was noted.
type noted struct {
	task.Control
	said []bool
}

func (n *noted) Block(_ context.Context, blocked bool) { n.said = append(n.said, blocked) }

// A task waits as long as one question is open, whoever of those who work for it asked.
func TestATaskWaitsUntilItsLastQuestionIsAnswered(t *testing.T) {
	at := &noted{}
	w := &waits{at: at}
	first := w.begin(t.Context())
	second := w.begin(t.Context())
	first()
	if !slices.Equal(at.said, []bool{true}) {
		t.Errorf("with one question open: %v", at.said)
	}
	second()
	w.begin(t.Context())()
	if !slices.Equal(at.said, []bool{true, false, true, false}) {
		t.Errorf("at last: %v", at.said)
	}
}
