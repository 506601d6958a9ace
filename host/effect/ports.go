package effect

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Source offers tools to a turn's catalog: the host's own (builtin), installed plugins (authored), or a bridge.
type Source interface {
	// Tools returns what the turn may see, in a stable order. It runs nothing authored. An error fails the
	// preparation of the catalog and so the turn.
	Tools(ctx context.Context, turn binding.Turn) ([]Tool, error)
}

// Adapter runs one tool that the gate has let through.
type Adapter interface {
	// Invoke runs the call once and returns what became of it. It ends soon after ctx does. It must decide
	// TimedOut and Cancelled from ctx and its own clock, never from what the guest says. It must not retry.
	Invoke(ctx context.Context, call Call) Outcome
}

// Call is one admitted call as an adapter sees it. Arguments were validated against the input schema and are the
// exact bytes that were approved.
type Call struct {
	Effect    id.Effect
	Tool      string
	Arguments json.RawMessage
	Read      document.Document // Arguments as the gate read them; good until the adapter returns
	Reader    *document.Reader  // for Outcome.Read, on the goroutine of the call alone; nil is one too
	Turn      binding.Turn
	Deadline  time.Time // when the effect is over, in the host's clock
	Output    int       // bytes of result that the caller will read at the most
	Grants    capability.Snapshot
	Secrets   Bound               // bound for this call; for the host's side of an adapter, never for a guest
	Progress  func(wire.Progress) // never nil; may be called from the adapter's goroutine only
	// Redactor is what the turn hides, as it stands; never nil. Audit records and error texts of the adapter's own pass
	// it, and what a guest sends away is held against it.
	Redactor func() redact.Set
	// Setup is what the turn's catalog was made of, for a turn that works for this one: see [Setup.Within]. Never nil.
	Setup func() Setup
	// Looks says that the call is an earlier one, and its tool is asked what became of it: nothing that changes anything may
	// be let through. See [Reconciler].
	Looks bool
	Plan  *Plan // what a [Planner] said last of this very call; nil for every other adapter
}

// Outcome is what an adapter says of one call. Result is set exactly when Status is Succeeded.
type Outcome struct {
	Status Status
	Result json.RawMessage // the gate holds it against the output schema
	// Read is Result as [document.ParseStrict] read it, where the adapter has done so already; the zero Document leaves
	// it to the gate. The text must not change any more. What the call's Reader read is one.
	Read   document.Document
	Fault  *wire.Fault // the tool's own answered "no"; Status is Failed
	Reason string      // stable code, for example "guest_trap"; empty when Succeeded
	Detail string      // words for the operator; may hold guest text; redacted before anyone sees it
	// Remedy is what the operator may type or edit about a refusal behind Fault, in the host's own words. The model, and the
	// plugin, do not see it.
	Remedy string
	// Unanswered says that a request which may have changed something went out, and that the tool was not given its answer.
	// Unless the tool has a result all the same, or only reads, the gate makes it Indeterminate.
	Unanswered bool
	// Changed says that a request which may have changed something was answered. When the tool was ended before it could say
	// anything, and does more than read, the gate makes it Indeterminate; to a fault of the tool's own it adds that.
	Changed  bool
	Logs     []wire.LogRecord
	Duration time.Duration
	Stats    map[string]int64 // bounded counters: "memory_bytes", "host_calls", ...
}

// reading is the result, read strictly.
func (o *Outcome) reading(r *document.Reader) (document.Document, error) {
	if o.Read.Len() > 0 && o.Read.Depth() <= MaxArgumentDepth && ordinaryNumbers(&o.Read) && bytes.Equal(o.Read.Bytes(), o.Result) {
		return o.Read, nil
	}
	return readStrict(r, o.Result)
}

// LogLine is one line that a plugin wrote to the operator's log while one call ran, in the operator view.
type LogLine struct {
	Effect id.Effect
	Tool   string
	Plugin string // "<id>@<version>" or empty
	wire.LogRecord
}

// Started is the durable intent to run, written before the adapter is invoked.
type Started struct {
	Effect    id.Effect
	Turn      id.Turn
	Session   id.Session
	CallID    string // the model's own call id, bounded
	Tool      string
	Plugin    string          // "<id>@<version>" or empty
	Recovery  string          // read, idempotent, reconcile or manual
	Digest    string          // sha256 hex of the canonical arguments and the plan: what was approved
	Arguments json.RawMessage // of the durable view; must not be changed
	Approval  id.Approval     // empty when none was needed
	Grants    []string        // spellings of the operator's grants that the call goes by, sorted; all must still stand
	At        time.Time
}

// Start is how a store took the start of an effect. Only Begun wrote anything.
type Start string

// How a store took the start of an effect.
const (
	Begun           Start = "begun"
	ApprovalMissing Start = "approval_missing" // no such question of the session, or not allowed
	ApprovalOther   Start = "approval_other"   // it allowed another call
	ApprovalUsed    Start = "approval_used"    // it was good for once, and another effect used it
	ApprovalExpired Start = "approval_expired" // its time was over
	ApprovalRevoked Start = "approval_revoked" // it was taken back
	SessionEnded    Start = "session_ended"    // its session was ended
	GrantRevoked    Start = "grant_revoked"    // the operator took a grant back that the call went by
)

// Finished is the durable end of an effect that started, or the record of one that did not (Started false).
type Finished struct {
	Effect   id.Effect
	Turn     id.Turn
	Session  id.Session
	CallID   string
	Tool     string
	Plugin   string
	Status   Status
	Started  bool
	Reason   string
	Durable  json.RawMessage // the durable view; must not be changed
	At       time.Time
	Duration time.Duration
}

// Journal makes effects durable. Each method is one transaction and appends the given audit record in it, with the session, turn
// and name of the effect.
type Journal interface {
	// EffectStarted stores the intent and uses the approval that it names, in one transaction: nothing starts in a turn that
	// has ended or whose claim is over, nor by a grant that its plugin does not have any more; an effect that needed an approval
	// cannot start without an allowed question about this very call (digest, tool, turn), in time and not used before;
	// an allowance for the session must be of the same session and tool and not revoked. Any answer but Begun, and any
	// error, means that nothing was stored and the effect must not run.
	EffectStarted(ctx context.Context, s Started, r event.Record) (Start, error)
	// EffectFinished stores the end of a started effect, or the whole of one that never started.
	EffectFinished(ctx context.Context, f Finished, r event.Record) error
}

// Audit appends one audit record in a transaction of its own.
type Audit interface {
	Record(ctx context.Context, r event.Record) error
}

// Grants keeps what the operator lets each plugin do at all. It is the second layer beside the core's capability
// snapshot; an effect needs both.
type Grants interface {
	// PluginGrants returns the plugin's grants; an unknown plugin has none.
	PluginGrants(ctx context.Context, plugin string) (capability.Snapshot, error)
	// GrantPlugin adds one grant with the audit record; false when it was there already.
	GrantPlugin(ctx context.Context, by principal.Scope, plugin string, g capability.Grant, r event.Record) (bool, error)
	// RevokePlugin removes one grant with the audit record; false when it was not there.
	RevokePlugin(ctx context.Context, by principal.Scope, plugin string, g capability.Grant, r event.Record) (bool, error)
}
