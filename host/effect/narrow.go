package effect

import (
	"context"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/binding"
)

// Narrower is an [Adapter] that runs its calls also under what another one of the same tool is held to.
type Narrower interface {
	Adapter
	// Within returns an adapter that may reach what both may, and nothing else. of is the same tool's in the catalog of who
	// delegates; one that is not of this kind is an error.
	Within(of Adapter) (Adapter, error)
}

// Within is s for a turn that works for another one: turn, whose catalog was made of from. Nothing becomes possible in it
// that is not possible there. A tool is offered only if from offers the very same one, of the same plugin, version and
// description; no grant of a plugin counts that it did not have when turn began; from's approval rules hold as well, the stricter wins; its bounds are bounds; what it hides is hidden; and
// whoever may decide for it decides.
func (s Setup) Within(from Setup, turn binding.Turn) Setup {
	out := Setup{
		Sources: []Source{narrowed{s.Sources, from.Sources, turn}}, Policies: append(slices.Clone(s.Policies), from.Policies...),
		Approvers: from.Approvers, Known: s.Known.Join(from.Known), Timeout: lesser(s.Timeout, from.Timeout), Output: lesser(s.Output, from.Output),
		granted: from.granted,
	}
	if len(out.Approvers) == 0 {
		out.Approvers = []string{turn.Principal().PrincipalID()}
	}
	return out
}

// lesser is the smaller bound; 0 stands for the usual one.
func lesser[T ~int | ~int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// narrowed offers what both sides do.
type narrowed struct {
	own, from []Source
	turn      binding.Turn // from's
}

// Tools lists the tools of own that from has too.
func (n narrowed) Tools(ctx context.Context, turn binding.Turn) ([]Tool, error) {
	offered := map[string]Tool{}
	for _, src := range n.from {
		tools, err := src.Tools(ctx, n.turn)
		if err != nil {
			return nil, fmt.Errorf("effect: narrow a catalog: %w", err)
		}
		for _, t := range tools {
			offered[t.Name] = t
		}
	}
	var out []Tool
	for _, src := range n.own {
		tools, err := src.Tools(ctx, turn)
		if err != nil {
			return nil, err
		}
		for _, t := range tools {
			theirs, ok := offered[t.Name]
			if !ok || !sameTool(t, theirs) {
				continue
			}
			if t.Origin != Builtin {
				mine, can := t.Adapter.(Narrower)
				if !can {
					continue
				}
				if t.Adapter, err = mine.Within(theirs.Adapter); err != nil {
					return nil, fmt.Errorf("effect: narrow %s: %w", t.Name, err)
				}
			}
			t.Approval = t.Approval.Stricter(theirs.Approval)
			out = append(out, t)
		}
	}
	return out, nil
}

// sameTool reports whether two are the same code under the same description. A builtin is the host's own.
func sameTool(a, b Tool) bool {
	if a.Origin != b.Origin || a.label() != b.label() {
		return false
	}
	return a.Origin == Builtin || a.pin() == b.pin()
}
