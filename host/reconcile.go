package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// ReconcileTime is how long [Open] asks tools what became of the calls that an earlier host left. What it did not come to
// waits for [Host.Reconcile], or for a person.
const ReconcileTime = 20 * time.Second

// reasonCoreChanged: the core's files are not those that the effect ran under. What the core may do, its egress rules
// and the content of its plugins are all in its revision.
const reasonCoreChanged = "core_changed"

// reasonChild: a child agent asked for the effect, and what its parent was held to is not kept.
const reasonChild = "child_agent"

// reconcileAfter asks about what a recovery left uncertain, one effect after another. What goes wrong leaves an effect as
// uncertain as it was: the host starts all the same.
func (h *Host) reconcileAfter(ctx context.Context, ended []turn.Recovered) {
	ctx, stop := context.WithTimeout(ctx, ReconcileTime)
	defer stop()
	for _, r := range ended {
		if r.Effects == 0 {
			continue
		}
		open, err := h.cfg.Store.Unsettled(ctx, r.Turn)
		for _, u := range open {
			if ctx.Err() != nil {
				break
			}
			var got effect.Reconciled
			if got, err = h.reconcile(ctx, u); err != nil {
				break
			}
			h.cfg.Log.Info("asked a tool what became of its call", "effect", u.ID, "tool", u.Tool, "answer", got.Answer, "reason", got.Reason)
		}
		if err != nil {
			h.cfg.Log.Warn("could not ask what became of effects", "turn", r.Turn, "error", err)
		}
	}
}

// Reconcile asks the tool of an uncertain effect what became of it; see [effect.Runtime.Reconcile]. EffectNotFound,
// NotUncertain and SettledBefore ask nobody, but that it may have been settled while it was asked about: the record then holds
// the word that stands. Settled means that it was asked: the record then holds the resolution, if there is one now.
func (h *Host) Reconcile(ctx context.Context, by principal.Scope, e id.Effect) (effect.Record, effect.Reconciled, effect.Settling, error) {
	rec, found, err := h.cfg.Store.Effect(ctx, by, e)
	switch {
	case err != nil:
		return rec, effect.Reconciled{}, "", fmt.Errorf("host: reconcile %s: %w", e, err)
	case !found:
		return rec, effect.Reconciled{}, effect.EffectNotFound, nil
	case rec.Status != effect.Indeterminate:
		return rec, effect.Reconciled{}, effect.NotUncertain, nil
	case rec.Resolution.Verdict != "":
		return rec, effect.Reconciled{}, effect.SettledBefore, nil
	}
	open, err := h.cfg.Store.Unsettled(ctx, rec.Turn)
	if err != nil {
		return rec, effect.Reconciled{}, "", fmt.Errorf("host: reconcile %s: %w", e, err)
	}
	i := slices.IndexFunc(open, func(u effect.Unsettled) bool { return u.ID == e })
	if i < 0 {
		return rec, effect.Reconciled{
			Answer: effect.AnswerUnknown, Reason: effect.ReasonCannotTell,
			Sentence: fmt.Sprintf("%s has recovery %s: its plugin has no way to say what became of a call", rec.Tool, rec.Recovery),
		}, effect.Settled, nil
	}
	got, err := h.reconcile(ctx, open[i])
	if err == nil && got.Before {
		if rec, _, err = h.cfg.Store.Effect(ctx, by, e); err != nil {
			return rec, got, "", fmt.Errorf("host: reconcile %s: %w", e, err)
		}
		return rec, got, effect.SettledBefore, nil
	}
	rec.Resolution = got.Resolution
	return rec, got, effect.Settled, err
}

// reconcile asks about one effect under what it ran under, as far as that still is what it was. A child agent's was held to
// its parent's grants, rules and egress as well, which ended with the parent's turn: nobody is asked under its own alone.
func (h *Host) reconcile(ctx context.Context, u effect.Unsettled) (effect.Reconciled, error) {
	if u.Actor.ParentTurn != "" {
		return h.stays(ctx, u, reasonChild, fmt.Sprintf("a child agent called %s, within what its parent could do, and that is not kept", u.Tool))
	}
	ready, err := h.prepare(ctx, u.Core)
	if err != nil {
		return h.stays(ctx, u, turn.RejectCore, err.Error())
	}
	if ready.core.Revision() != u.Revision {
		return h.stays(ctx, u, reasonCoreChanged, fmt.Sprintf("the files of core %s have changed since, and with them what the call may do", u.Core))
	}
	scope, err := h.again(ctx, u)
	var unowned *authority.UnownedError
	if errors.As(err, &unowned) {
		return h.stays(ctx, u, turn.RejectSession, unowned.Error())
	}
	if err != nil {
		return effect.Reconciled{}, fmt.Errorf("host: reconcile %s: %w", u.ID, err)
	}
	token := binding.Token{ID: h.ids.Token(), Request: u.Request, Turn: u.Turn, Session: u.Session}
	bound, err := binding.New(binding.Spec{
		Request: u.Request, Turn: u.Turn, Session: u.Session, Principal: scope, Trace: u.Trace,
		Core:  binding.Core{ID: u.Core, Revision: u.Revision, Capabilities: ready.core.Capabilities()},
		Route: token, Admission: token, Cancellation: token,
	})
	if err != nil {
		return effect.Reconciled{}, fmt.Errorf("host: reconcile %s: %w", u.ID, err)
	}
	setup, _, err := h.setup(ctx, ready, redact.Set{}, factsOf(scope), nil)
	if err != nil {
		return h.stays(ctx, u, "setup_failed", err.Error())
	}
	catalog, err := h.effects.Prepare(ctx, bound, setup)
	if err != nil {
		return h.stays(ctx, u, "catalog_failed", err.Error())
	}
	defer catalog.Close()
	return h.effects.Reconcile(ctx, u, bound, catalog), nil
}

// again issues the scope that a turn which is over ran under. An operator's is on record before it exists.
func (h *Host) again(ctx context.Context, u effect.Unsettled) (principal.Scope, error) {
	actor := u.Actor
	if actor.Authority == principal.Operator {
		actor = authority.OperatorFacts("what became of " + string(u.ID))
		err := h.cfg.Store.Record(ctx, event.Record{
			ID: h.ids.Event(), At: h.cfg.Clock(), Kind: event.OperatorIssued, Principal: actor.PrincipalID,
			Session: u.Session, Turn: u.Turn, Effect: u.ID, Trace: u.Trace, Fields: []event.Field{event.F("reason", actor.Reason)},
		})
		if err != nil {
			return principal.Scope{}, err
		}
	}
	return h.resolver.Session(ctx, actor, u.Session)
}

// stays records why nobody could be asked about an effect.
func (h *Host) stays(ctx context.Context, u effect.Unsettled, reason, why string) (effect.Reconciled, error) {
	set := h.Hidden(ctx)
	out := effect.Reconciled{Answer: effect.AnswerUnknown, Reason: reason, Sentence: set.Text(redact.ForOperator, why)}
	err := h.cfg.Store.Record(ctx, event.Record{
		ID: h.ids.Event(), At: h.cfg.Clock(), Kind: event.EffectUnsettled, Principal: u.Actor.PrincipalID,
		Session: u.Session, Turn: u.Turn, Effect: u.ID, Trace: u.Trace,
		Fields: []event.Field{event.F("tool", u.Tool), event.F("plugin", u.Plugin), event.F("reason", reason)},
	})
	return out, err
}
