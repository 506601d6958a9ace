package credential

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// MaxSecrets is how many secrets one call may be given.
const MaxSecrets = 16

// Reasons of a refusal. Codes never change once released.
const (
	TooMany     = "secret_too_many"    // more than [MaxSecrets]
	Reserved    = "secret_reserved"    // the name would steer a process
	NotInCore   = "secret_not_in_core" // the core does not list secret.bind:<NAME>
	NotGranted  = "secret_not_granted" // the operator has not granted it to the plugin
	Missing     = "secret_missing"
	Expired     = "secret_expired"
	Unreadable  = "secret_unreadable"   // its place cannot be read, or what is there is no secret
	BrokenFile  = "secret_file"         // secrets.age or its key cannot be used
	TooShort    = "secret_too_short"    // too few characters to be hidden
	NotHidable  = "secret_not_hidable"  // too long or too plain to be hidden
	NotRecorded = "secret_not_recorded" // the audit record could not be written
)

// Values reads the value of one secret as it is now. [secret.Reader] is one.
type Values interface {
	Entry(ctx context.Context, name secret.Name) (value string, expires time.Time, err error)
}

// Audit appends one record, in a transaction of its own.
type Audit interface {
	Record(ctx context.Context, r event.Record) error
}

// Binder is the gate's [effect.Secrets]. It is safe for concurrent use.
type Binder struct {
	values Values
	audit  Audit
	ids    *id.Source
	clock  func() time.Time
}

// NewBinder makes a binder over where values are and where bindings are put on record.
func NewBinder(values Values, audit Audit, ids *id.Source, clock func() time.Time) *Binder {
	return &Binder{values, audit, ids, clock}
}

// Bind is [effect.Secrets]'s.
func (b *Binder) Bind(ctx context.Context, w effect.Wanted) (effect.Bound, effect.Refusal, error) {
	bound, no, err := b.look(ctx, w)
	if err != nil || !no.Zero() {
		return effect.Bound{}, no, err
	}
	if err := b.audit.Record(ctx, b.record(w)); err != nil {
		return effect.Bound{}, effect.Refusal{
			Reason: NotRecorded, Remedy: "portcullis store check",
			Why: fmt.Sprintf("that %s gets a secret could not be recorded, so it gets none: `portcullis store check`", w.Tool),
		}, nil
	}
	return bound, effect.Refusal{}, nil
}

// Would says why Bind would refuse, of names and values as they are now. It gives nothing out and records nothing.
func (b *Binder) Would(ctx context.Context, w effect.Wanted) (effect.Refusal, error) {
	_, no, err := b.look(ctx, w)
	return no, err
}

func (b *Binder) look(ctx context.Context, w effect.Wanted) (effect.Bound, effect.Refusal, error) {
	if no := permitted(w); !no.Zero() {
		return effect.Bound{}, no, nil
	}
	var bound effect.Bound
	for _, name := range w.Names {
		value, expires, err := b.values.Entry(ctx, secret.Name(name))
		if err != nil {
			no, err := unavailable(w.Tool, name, err)
			return effect.Bound{}, no, err
		}
		if no := unfit(w.Tool, name, value); !no.Zero() {
			return effect.Bound{}, no, nil
		}
		bound = bound.With(name, value, expires)
	}
	return bound, effect.Refusal{}, nil
}

// record says which names were bound for which effect.
func (b *Binder) record(w effect.Wanted) event.Record {
	return event.Record{
		ID: b.ids.Event(), At: b.clock(), Kind: event.SecretBound, Principal: w.Turn.Principal().PrincipalID(),
		Session: w.Turn.Session(), Turn: w.Turn.ID(), Effect: w.Effect, Trace: w.Turn.Trace(),
		Fields: []event.Field{event.F("secrets", strings.Join(w.Names, " ")), event.F("tool", w.Tool), event.F("plugin", w.Plugin)},
	}
}

// permitted looks at names alone: how many, which, and who lets this call have them.
func permitted(w effect.Wanted) effect.Refusal {
	if len(w.Names) > MaxSecrets {
		return effect.Refusal{Reason: TooMany, Why: fmt.Sprintf("%s needs %d secrets, and a call gets at most %d: split the tool", w.Tool, len(w.Names), MaxSecrets)}
	}
	core := w.Turn.Core()
	for _, name := range w.Names {
		if _, err := secret.ParseName(name); err != nil {
			return effect.Refusal{Reason: Reserved, Why: fmt.Sprintf("%s needs a secret that nobody may be given: %v", w.Tool, err)}
		}
		use := "secret.bind:" + name
		if !exactly(core.Capabilities, use) {
			return effect.Refusal{
				Reason: NotInCore, Remedy: listing(w.Plugin, use, core.ID),
				Why: fmt.Sprintf("%s needs %s and core %s does not list it: add %q to capabilities in cores/%s/agent.yaml", w.Tool, use, core.ID, use, core.ID),
			}
		}
		if w.Plugin != "" && !exactly(w.Granted, use) {
			grant := capability.GrantLine(w.Plugin, use, "")
			return effect.Refusal{Reason: NotGranted, Remedy: grant, Why: fmt.Sprintf("%s needs %s and plugin %s is not granted it: `%s`", w.Tool, use, w.Plugin, grant)}
		}
	}
	return effect.Refusal{}
}

// listing is how a core comes to list use: one command for both layers, or by hand where no plugin could be granted it.
func listing(plugin, use, core string) string {
	if plugin != "" {
		return capability.GrantLine(plugin, use, core)
	}
	return fmt.Sprintf("add %q to capabilities in cores/%s/agent.yaml", use, core)
}

// exactly reports a grant of this very use. That a grant of a whole family would match it too is no reason.
func exactly(s capability.Snapshot, use string) bool { return slices.Contains(s.Strings(), use) }

// unavailable makes a refusal of what a person can mend; the rest stays an error.
func unavailable(tool, name string, err error) (effect.Refusal, error) {
	var gone *secret.UnavailableError
	var file *secret.FileError
	switch {
	case errors.As(err, &file):
		return effect.Refusal{Reason: BrokenFile, Why: fmt.Sprintf("%s needs the secret %s: %v", tool, name, file), Remedy: "portcullis doctor"}, nil
	case !errors.As(err, &gone):
		return effect.Refusal{}, fmt.Errorf("credential: read %s: %w", name, err)
	}
	no := effect.Refusal{Reason: Unreadable, Remedy: "portcullis secrets set " + name, Why: fmt.Sprintf("%s needs the secret %s, and %v", tool, name, gone)}
	switch {
	case gone.Why == secret.Expired:
		no.Reason, no.Remedy = Expired, "portcullis secrets rotate "+name
	case gone.Why == secret.Missing && gone.Ref.Source == secret.FromVault:
		no.Reason = Missing
		no.Why = fmt.Sprintf("%s needs the secret %s, which is not kept here: `portcullis secrets set %s`", tool, name, name)
	case gone.Why == secret.Missing:
		no.Reason = Missing
	}
	return no, nil
}

// unfit refuses a value that could not be hidden again. Vaults refuse those when they are set; an environment variable
// or a file may have changed since.
func unfit(tool, name, value string) effect.Refusal {
	why := redact.NewSecret(name, value).Check()
	if why == "" {
		return effect.Refusal{}
	}
	no := effect.Refusal{Reason: NotHidable, Remedy: "portcullis secrets rotate " + name}
	if why == redact.TooShort {
		no.Reason = TooShort
	}
	no.Why = fmt.Sprintf("%s needs the secret %s, and %v: `portcullis secrets rotate %s`", tool, name, &redact.RefusedError{Name: name, Reason: why}, name)
	return no
}

var _ effect.Secrets = (*Binder)(nil)
