package turn

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// CancelResult is the answer to a cancel request.
type CancelResult string

// The answers. They are the same whoever asks again.
const (
	CancelDone      CancelResult = "ended"     // the turn has its terminal state now
	CancelTooLate   CancelResult = "was_ended" // it had one before
	CancelNotFound  CancelResult = "not_found" // unknown, or not the caller's
	CancelElsewhere CancelResult = "elsewhere" // it runs in another process, which must be asked
)

// Cancel ends a running turn and waits until its terminal state is written or ctx ends. The scope must reach the
// turn's session. It never cancels anything but this turn.
func (x *Execution) Cancel(ctx context.Context, history History, by principal.Scope, t id.Turn) (CancelResult, error) {
	rec, found, err := history.Turn(ctx, by, t)
	if err != nil {
		return "", fmt.Errorf("turn: look up %s: %w", t, err)
	}
	if !found {
		return CancelNotFound, nil
	}
	x.mu.Lock()
	r, live := x.active[t]
	x.mu.Unlock()
	if !live {
		if rec.State == Running {
			return CancelElsewhere, nil
		}
		return CancelTooLate, nil
	}
	r.cancel(errRequested)
	select {
	case <-r.done:
		return CancelDone, nil
	case <-ctx.Done():
		return "", fmt.Errorf("turn: wait for %s to end: %w", t, context.Cause(ctx))
	}
}
