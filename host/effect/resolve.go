package effect

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Verdict is what is settled about an effect that started and whose end nobody saw.
type Verdict string

// The verdicts. The first two come from the tool's own recovery and are recorded with the effect's end; the others are
// the operator's, or the tool's when it was asked (see [Runtime.Reconcile]).
const (
	NothingToDo   Verdict = "nothing_to_do"   // recovery read: it changed nothing, whether it happened or not
	MayBeRepeated Verdict = "may_be_repeated" // recovery idempotent: whoever still wants it asks again; the host never does
	Happened      Verdict = "happened"
	NotHappened   Verdict = "not_happened"
)

// MaxResolveReason bounds why an operator settled an effect, in characters.
const MaxResolveReason = 300

// Resolution settles one indeterminate effect, once. It stands beside the effect and its turn, which stay as they ended.
type Resolution struct {
	Verdict   Verdict // empty: nothing is settled
	Reason    string  // the operator's words, 1..[MaxResolveReason] characters; else a stable code
	By        string  // principal id, or "plugin:<id>@<version>"; empty when the tool's recovery settled it
	Reference string  // where a plugin says that the outcome can be looked at; may be empty
	At        time.Time
}

// Settling is how a store took a resolution. Only Settled wrote one.
type Settling string

// How a store took a resolution.
const (
	Settled        Settling = "settled"
	SettledBefore  Settling = "settled_before" // the first one stands
	NotUncertain   Settling = "not_uncertain"  // it ended, or it runs: there is nothing to settle
	EffectNotFound Settling = "not_found"      // unknown, or of a session that by does not reach
)

// Resolutions are the effects that nobody saw the end of, and what is settled about them. All of it is the operator's: any
// other scope is refused. Each method is one transaction.
type Resolutions interface {
	// Uncertain lists indeterminate effects, those that ended last first; with open only what nothing is settled about.
	// The first skip (0..100000) are left out; limit is 1..501, one more than a page.
	Uncertain(ctx context.Context, by principal.Scope, open bool, skip, limit int) ([]Record, error)
	// Effect reads one effect; false when there is none that by reaches.
	Effect(ctx context.Context, by principal.Scope, e id.Effect) (Record, bool, error)
	// ResolveEffect settles an indeterminate effect as Happened or NotHappened, with the record r. It returns the effect as
	// it stands afterwards. It runs nothing.
	ResolveEffect(ctx context.Context, by principal.Scope, e id.Effect, as Resolution, r event.Record) (Record, Settling, error)
}
