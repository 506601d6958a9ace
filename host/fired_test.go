package host

import (
	"context"
	"errors"
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
