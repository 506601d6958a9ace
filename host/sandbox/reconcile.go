package sandbox

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Reconcile asks the tool what became of an earlier call; see [effect.Reconciler]. It does not run the call: another
// entry point is called, which keeps no values and writes no files, and whose requests are for the port to hold to what
// only reads.
func (a *Adapter) Reconcile(ctx context.Context, call effect.Call) effect.Reconciliation {
	call.Looks, call.Output = true, maxReconciliation
	unknown := func(reason, detail string) effect.Reconciliation {
		return effect.Reconciliation{Answer: effect.AnswerUnknown, Reason: reason, Detail: detail}
	}
	out, refused := a.enter(ctx, wire.ExportReconcile, call)
	if refused != nil {
		return unknown(refused.Reason, refused.Detail)
	}
	if out.Status != OK {
		got := unknown(reasonOf(out.Status), a.detail(out))
		got.Logs = logsOf(out)
		return got
	}
	r, err := decodeReconciliation(out.Output)
	var got effect.Reconciliation
	switch {
	case err != nil:
		got = unknown("bad_reply", fmt.Sprintf("plugin %s: bad reconciliation of %s: %s", a.plugin.Name(), call.Tool, fit([]byte(err.Error()), 300, known(call.Redactor), redact.ForOperator)))
	case r.Fault != nil:
		got = unknown("fault_"+string(r.Fault.Code), fit([]byte(r.Fault.Message), maxFault, known(call.Redactor), redact.ForModel))
	case r.State == wire.Committed:
		got = effect.Reconciliation{Answer: effect.AnswerCommitted, Reference: r.Reference}
	case r.State == wire.NotCommitted:
		got = effect.Reconciliation{Answer: effect.AnswerNotFound}
	default:
		got = unknown("tool_unknown", "the tool cannot tell now")
	}
	got.Logs = logsOf(out)
	return got
}

// maxReconciliation is the longest answer that is read.
const maxReconciliation = 16 << 10

// decodeReconciliation reads a guest's answer strictly.
func decodeReconciliation(data []byte) (wire.Reconciliation, error) {
	var r wire.Reconciliation
	if err := decodeStrict(data, maxReconciliation+replyOverhead, &r); err != nil {
		return wire.Reconciliation{}, err
	}
	return r, r.Check()
}

// lookingKV reads and refuses every write.
type lookingKV struct{ KV }

// Set refuses.
func (lookingKV) Set(_ context.Context, scope KVScope, _ string, _ []byte, _ *int64) (int64, bool, error) {
	return 0, false, &KVOverError{scope.Turn}
}

// Delete refuses.
func (lookingKV) Delete(_ context.Context, scope KVScope, _ string, _ *int64) (bool, error) {
	return false, &KVOverError{scope.Turn}
}

var _ effect.Reconciler = (*Adapter)(nil)
