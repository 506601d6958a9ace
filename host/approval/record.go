package approval

import (
	"context"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Record stores a decision that a person made outside a prompt: `portcullis approvals allow`, a button in a chat, a
// request to the API. It names the question by id and nothing else; by is who was authenticated, and is who decides.
// One who may not decide it changes nothing, and the attempt is on record.
func (g *Gate) Record(ctx context.Context, by principal.Scope, a id.Approval, allow bool, reach Reach, reason string) (Question, Recording, error) {
	q, found, err := g.cfg.Journal.Question(ctx, by, a)
	if err != nil || !found {
		return Question{}, NotFound, err
	}
	ans := Answer{State: Denied, By: by.PrincipalID(), Reason: approval.Visible(reason)}
	if allow {
		ans.State, ans.Reach = Allowed, reach
	}
	ans = sane(ans, q)
	rec := g.about(by, event.ApprovalDecided, q,
		event.F("state", string(ans.State)), event.F("reach", string(ans.Reach)), event.F("by", ans.By), event.F("reason", ans.Reason))
	q, how, err := g.cfg.Journal.Decide(ctx, by, a, ans, g.cfg.Clock(), rec)
	if err == nil {
		g.announce(a)
	}
	return q, how, err
}

// Revoke takes an allowance for the session back, by the id of the question that gave it: no effect starts under it any
// more, in this process or another, and requests that wait for it here are denied. Who may decide it may revoke it.
func (g *Gate) Revoke(ctx context.Context, by principal.Scope, a id.Approval, reason string) (Question, Recording, error) {
	q, found, err := g.cfg.Journal.Question(ctx, by, a)
	if err != nil || !found {
		return Question{}, NotFound, err
	}
	rec := g.about(by, event.ApprovalRevoked, q, event.F("covers", q.RuleKey), event.F("reason", approval.Visible(reason)))
	q, how, err := g.cfg.Journal.Revoke(ctx, by, a, g.cfg.Clock(), rec)
	if err != nil || how != Recorded && how != AlreadyDecided {
		return q, how, err
	}
	keys := map[approval.Key]bool{}
	g.forget(func(k approval.Key, have allowance) bool {
		if have.from == a {
			keys[k] = true
		}
		return have.from == a
	})
	g.invalidate(errRevoked, func(k approval.Key) bool { return keys[k] })
	return q, how, nil
}

func (g *Gate) about(by principal.Scope, kind event.Kind, q Question, more ...event.Field) event.Record {
	return event.Record{
		ID: g.cfg.IDs.Event(), At: g.cfg.Clock(), Kind: kind, Principal: by.PrincipalID(),
		Session: q.Session, Turn: q.Turn, Effect: q.Effect,
		Fields: append([]event.Field{event.F("approval", string(q.ID)), event.F("tool", q.Tool)}, more...),
	}
}
