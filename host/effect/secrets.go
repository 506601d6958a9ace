package effect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/document"
)

// Secrets binds what a call was granted. The values go to the host's side of the gate and into the redactor, never to
// a guest.
type Secrets interface {
	// Bind resolves the named secrets for one call and puts on record that it did. When one of them is not there, not
	// granted or not fit to be bound, none is, and the Refusal says why. An error means that the host could not do its
	// job; nothing is bound then either.
	Bind(ctx context.Context, w Wanted) (Bound, Refusal, error)
}

// Wanted are the secrets of one call, by name, and all that decides whether it gets them.
type Wanted struct {
	Effect  id.Effect
	Tool    string
	Turn    binding.Turn        // whose core must list secret.bind:<NAME> for each
	Plugin  string              // id; empty for a builtin, which needs no grant of its own
	Granted capability.Snapshot // what the operator granted the plugin
	Names   []string            // sorted, each once
}

// Refusal says why nothing was bound. The zero Refusal is none.
type Refusal struct {
	Reason string // stable code
	Why    string // for the operator: what is wrong and what to type; never a value
	Remedy string // the command of Why alone, or empty
}

// Zero reports that nothing was refused.
func (r Refusal) Zero() bool { return r.Reason == "" }

// Bound are the secrets of one call. Adapters of the host read them; an adapter that runs a guest hands them to what
// the host does for the guest, and to nothing that the guest can reach. Values are behind functions, so that printing
// a Bound, or what holds it, shows none. The zero Bound is none.
type Bound struct {
	list  []boundValue
	until time.Time
}

type boundValue struct {
	name  string
	value func() string
}

// With returns a Bound that has one more. expires is when the value may not be used any more; zero: never.
func (b Bound) With(name, value string, expires time.Time) Bound {
	own := append(slices.Clone(b.list), boundValue{name, func() string { return value }})
	until := b.until
	if !expires.IsZero() && (until.IsZero() || expires.Before(until)) {
		until = expires
	}
	return Bound{own, until}
}

// Names are the names of what is bound, in the order they were added.
func (b Bound) Names() []string {
	names := make([]string, len(b.list))
	for i, v := range b.list {
		names[i] = v.name
	}
	return names
}

// Value is the secret of a name; false when it was not bound for this call.
func (b Bound) Value(name string) (string, bool) {
	for _, v := range b.list {
		if v.name == name {
			return v.value(), true
		}
	}
	return "", false
}

// Until is the earliest moment that one of the values expires; zero: never. The call is over by then.
func (b Bound) Until() time.Time { return b.until }

// Format writes the names for every verb.
func (b Bound) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "secrets %v", b.Names()) }

// MarshalJSON writes the names.
func (b Bound) MarshalJSON() ([]byte, error) {
	return []byte(`"secrets ` + strings.Join(b.Names(), " ") + `"`), nil
}

// bindFamily is the family of secret.bind:<NAME>.
const bindFamily = "secret.bind"

// needsOf is what a call of the tool needs: what the tool lists, and what this call's arguments ask for. The error is the
// first that is no capability.
func needsOf(t Tool, args document.Document) ([]capability.Name, error) {
	if t.Secrets == nil && t.Asks == nil {
		return t.Needs, nil
	}
	var asked []string
	if t.Secrets != nil {
		for _, name := range t.Secrets(args) {
			asked = append(asked, bindFamily+":"+name)
		}
	}
	if t.Asks != nil {
		asked = append(asked, t.Asks(args)...)
	}
	needs := slices.Clone(t.Needs)
	for _, text := range asked {
		n, err := capability.Parse(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(needs, n) {
			needs = append(needs, n)
		}
	}
	return needs, nil
}

// secretNames are the secrets among needs, sorted, each once.
func secretNames(needs []capability.Name) []string {
	var wanted []string
	for _, n := range needs {
		if n.Family() == bindFamily {
			wanted = append(wanted, n.Argument())
		}
	}
	slices.Sort(wanted)
	return slices.Compact(wanted)
}

// bindSecrets is step 6.
func (r *Runtime) bindSecrets(ctx context.Context, p *passage) verdict {
	wanted := secretNames(p.needs)
	if len(wanted) == 0 {
		return pass("none needed")
	}
	p.worked = true
	no := func(ref Refusal) verdict {
		return verdict{status: Denied, reason: ref.Reason, why: ref.Why, remedy: ref.Remedy, model: "a credential that the tool needs is not available"}
	}
	t := p.entry.tool
	if r.secrets == nil {
		return no(Refusal{"secret_unavailable", fmt.Sprintf("%s needs the secret %s and this host binds none", t.Name, wanted[0]), ""})
	}
	bound, refusal, err := r.secrets.Bind(ctx, Wanted{p.req.ID, t.Name, p.turn, t.Plugin, p.granted, wanted})
	switch {
	case ctx.Err() != nil:
		return verdict{status: Cancelled, reason: "cancelled", why: "cancelled before it started", model: "cancelled"}
	case err != nil:
		return no(Refusal{"secret_unavailable", fmt.Sprintf("the secrets of %s could not be bound: %v", t.Name, err), ""})
	case !refusal.Zero():
		return no(refusal)
	case !slices.Equal(bound.Names(), wanted):
		return no(Refusal{"secret_unavailable", fmt.Sprintf("other secrets were bound for %s than it needs", t.Name), ""})
	}
	for _, v := range bound.list {
		if err := p.catalog.hide(v.name, v.value()); err != nil {
			return no(Refusal{"secret_not_hidable", fmt.Sprintf("%s cannot be bound for %s: %v", v.name, t.Name, err), ""})
		}
	}
	p.secrets = bound
	return pass("bound " + strings.Join(wanted, ", "))
}
