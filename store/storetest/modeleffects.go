package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"pgregory.net/rapid"
)

func (m *model) asks(rt *rapid.T) {
	t := one(rt, "turn", m.order)
	q := m.question(t.live)
	q.Cacheable = rapid.Bool().Draw(rt, "cacheable")
	err := m.Store.Ask(m.ctx, q, m.record(event.ApprovalAsked))
	fails(rt, "Ask", err, t.outcome != "")
	if err != nil {
		return
	}
	if m.questions[q.ID], m.asked = &q, append(m.asked, q.ID); rapid.Bool().Draw(rt, "and is answered") {
		m.decide(rt, &q)
	}
}

func (m *model) decides(rt *rapid.T) { m.decide(rt, m.questions[one(rt, "question", m.asked)]) }

// decide lets the operator answer: the first answer stands, and after the deadline there is none.
func (m *model) decide(rt *rapid.T, q *approval.Question) {
	ans := one(rt, "answer", []approval.Answer{denial(), allow(approval.Once), allow(approval.ForSession)})
	if ans.Reach == approval.ForSession && !q.Cacheable {
		return // it is not offered
	}
	by, want := m.operator(m.t), approval.Recorded
	ans.By = by.PrincipalID()
	switch {
	case q.State != approval.Pending:
		want = approval.AlreadyDecided
	case !m.Clock.Now().Before(q.Expires):
		want, q.State = approval.TooLate, approval.Expired
	default:
		q.State, q.Reach = ans.State, ans.Reach
	}
	_, how, err := m.Store.Decide(m.ctx, by, q.ID, ans, m.Clock.Now(), m.record(event.ApprovalDecided))
	fails(rt, "Decide", err, false)
	m.same(rt, "Decide", how, want)
}

func (m *model) revokes(rt *rapid.T) {
	q := m.questions[one(rt, "question", m.asked)]
	want := approval.Recorded
	switch {
	case q.State != approval.Allowed || q.Reach != approval.ForSession:
		want = approval.NotAllowance
	case !q.Revoked.IsZero():
		want = approval.AlreadyDecided
	default:
		q.Revoked = m.Clock.Now()
	}
	_, how, err := m.Store.Revoke(m.ctx, m.operator(m.t), q.ID, m.Clock.Now(), m.record(event.ApprovalRevoked))
	fails(rt, "Revoke", err, false)
	m.same(rt, "Revoke", how, want)
}

// startsEffect starts an effect, by itself or under a question that may be another's.
func (m *model) startsEffect(rt *rapid.T) {
	t := one(rt, "turn", m.order)
	s := m.world.started(t.live)
	s.Recovery = one(rt, "recovery", []string{"read", "idempotent", "reconcile", "manual"})
	var q *approval.Question
	if len(m.asked) > 0 && rapid.Bool().Draw(rt, "under an approval") {
		q = m.questions[one(rt, "approval", m.asked)]
		s.Approval, s.Tool, s.Plugin, s.Digest = q.ID, q.Tool, q.Plugin, one(rt, "digest", []string{q.Digest, q.Digest, "e"})
		if rapid.IntRange(0, 3).Draw(rt, "another effect") != 0 {
			s.Effect, s.Session, s.Turn = q.Effect, q.Session, q.Turn
		}
		t = m.turns[s.Turn]
	}
	want := m.under(q, s)
	if m.ended[s.Session] {
		want = effect.SessionEnded
	}
	refused := want == effect.Begun && (t.outcome != "" || m.over(t.claim) || m.effects[s.Effect] != nil)
	how, err := m.Store.EffectStarted(m.ctx, s, m.record(event.EffectStarted))
	fails(rt, "EffectStarted", err, refused)
	if refused {
		return
	}
	m.same(rt, "EffectStarted", how, want)
	if how != effect.Begun {
		return
	}
	if q != nil && q.Used.IsZero() {
		q.Used = m.Clock.Now()
	}
	m.effects[s.Effect], m.started = &modelEffect{Started: s}, append(m.started, s.Effect)
}

// under is whether q lets s start: one call for once, any call of its tool and session for the session, until it is taken back.
func (m *model) under(q *approval.Question, s effect.Started) effect.Start {
	switch {
	case q == nil:
		return effect.Begun
	case q.State != approval.Allowed || q.Session != s.Session:
		return effect.ApprovalMissing
	case !q.Revoked.IsZero():
		return effect.ApprovalRevoked
	case q.Reach == approval.ForSession && q.Effect != s.Effect:
		return effect.Begun
	case !q.Used.IsZero():
		return effect.ApprovalUsed
	case q.Effect != s.Effect || q.Digest != s.Digest:
		return effect.ApprovalOther
	case !m.Clock.Now().Before(q.Expires):
		return effect.ApprovalExpired
	}
	return effect.Begun
}

func (m *model) finishesEffect(rt *rapid.T) {
	e := m.effects[one(rt, "effect", m.started)]
	f := m.finished(e.Started, one(rt, "status", []effect.Status{effect.Succeeded, effect.Failed, effect.Cancelled, effect.Indeterminate}))
	err := m.Store.EffectFinished(m.ctx, f, m.record(event.EffectFinished))
	fails(rt, "EffectFinished", err, e.status != "")
	switch {
	case err != nil:
	case f.Status == effect.Indeterminate:
		m.uncertain(e)
	default:
		e.status = f.Status
	}
}

func (m *model) resolves(rt *rapid.T) {
	e, by := m.effects[one(rt, "effect", m.started)], m.operator(m.t)
	as := effect.Resolution{Reason: "looked", By: by.PrincipalID(), At: m.Clock.Now(), Verdict: one(rt, "verdict", []effect.Verdict{effect.Happened, effect.NotHappened})}
	want := effect.Settled
	switch {
	case e.status != effect.Indeterminate:
		want = effect.NotUncertain
	case e.verdict != "":
		want = effect.SettledBefore
	default:
		e.verdict = as.Verdict
	}
	_, how, err := m.Store.ResolveEffect(m.ctx, by, e.Effect, as, m.record(event.EffectResolved))
	fails(rt, "ResolveEffect", err, false)
	m.same(rt, "ResolveEffect", how, want)
}

// claimsDelivery claims what has been due longest, of those with nothing open before them in their conversation and nothing
// of it on its way.
func (m *model) claimsDelivery(rt *rapid.T) {
	c := lease.Claim{
		Token: m.ids.Lease(), Epoch: one(rt, "epoch", []id.Epoch{m.epoch, m.epoch, "epo_before"}),
		Expires: m.Clock.Now().Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "seconds")) * time.Second),
	}
	var want *outbox.Delivery
	for i, d := range m.queue {
		waits := slices.ContainsFunc(m.queue[:i], func(e *outbox.Delivery) bool { return e.Conversation == d.Conversation && e.State.Open() }) ||
			slices.ContainsFunc(m.queue, func(e *outbox.Delivery) bool { return e.Conversation == d.Conversation && e.State.Held() })
		if d.State == outbox.Queued && !d.Due.After(m.Clock.Now()) && !waits && (want == nil || d.Due.Before(want.Due)) {
			want = d
		}
	}
	got, found, err := m.Store.ClaimDelivery(m.ctx, "chat", c)
	fails(rt, "ClaimDelivery", err, false)
	m.same(rt, "ClaimDelivery found one", found, want != nil)
	if !found {
		return
	}
	m.same(rt, "ClaimDelivery", got.ID, want.ID)
	c.Fence = want.Claim.Fence + 1
	m.same(rt, "the fence of a claim", got.Claim.Fence, c.Fence)
	want.State, want.Claim = outbox.Claimed, c
	m.held = append(m.held, *want)
}

// stepsDelivery moves one that was claimed, sometimes under the claim of another.
func (m *model) stepsDelivery(rt *rapid.T) {
	d := one(rt, "held", m.held)
	if rapid.IntRange(0, 4).Draw(rt, "foreign claim") == 0 {
		d.Claim = one(rt, "claim of", m.held).Claim
	}
	is := m.owed[d.ID]
	mine := is.State.Held() && is.Claim.Token == d.Claim.Token && is.Claim.Fence == d.Claim.Fence && !m.over(is.Claim)
	want, how := outbox.Stale, outbox.Fenced("")
	var err error
	switch what := one(rt, "step", []string{"begin", "begin", "settle", "settle", "release"}); what {
	case "begin":
		safe := rapid.Bool().Draw(rt, "idempotent")
		if mine && is.State == outbox.Claimed {
			want, is.State, is.Idempotent, is.Attempts = outbox.Written, outbox.Sending, safe, is.Attempts+1
		}
		how, err = m.Store.BeginSending(m.ctx, d.ID, d.Claim, safe, m.record(event.DeliveryStarted))
	case "settle":
		s := outbox.Settlement{State: one(rt, "state", []outbox.State{outbox.Delivered, outbox.Failed, outbox.Unknown, outbox.Queued}), At: m.Clock.Now()}
		if s.State != outbox.Delivered {
			s.Reason = "because"
		}
		if s.State == outbox.Queued {
			s.Due = s.At.Add(time.Duration(rapid.IntRange(0, 30).Draw(rt, "later")) * time.Second)
		}
		if mine && (is.State == outbox.Sending || s.State == outbox.Failed) {
			want, is.State, is.Due = outbox.Written, s.State, s.Due
		}
		how, err = m.Store.SettleDelivery(m.ctx, d.ID, d.Claim, s, m.record(event.DeliverySettled))
	case "release":
		if mine && is.State == outbox.Claimed {
			want, is.State, is.Due = outbox.Written, outbox.Queued, m.Clock.Now()
		}
		how, err = m.Store.ReleaseDelivery(m.ctx, d.ID, d.Claim)
	}
	fails(rt, "a step of a delivery", err, false)
	m.same(rt, "a step of a delivery", how, want)
}

// recoversDeliveries takes what is held from a holder that is gone. What may have left is not sent again, unless the
// channel tells a second copy from a first.
func (m *model) recoversDeliveries(rt *rapid.T) {
	epoch := one(rt, "epoch", []id.Epoch{m.epoch, m.epoch, "epo_next"})
	var want []outbox.Recovered
	for _, d := range m.queue {
		if !d.State.Held() || d.Claim.Epoch == epoch && !m.over(d.Claim) {
			continue
		}
		if d.State == outbox.Claimed || d.Idempotent {
			d.State, d.Due = outbox.Queued, m.Clock.Now()
		} else {
			d.State = outbox.Unknown
		}
		want = append(want, outbox.Recovered{Delivery: d.ID, State: d.State})
	}
	slices.SortFunc(want, func(a, b outbox.Recovered) int { return cmp.Compare(a.Delivery, b.Delivery) })
	got, err := m.Store.RecoverDeliveries(m.ctx, epoch, m.Clock.Now())
	fails(rt, "RecoverDeliveries", err, false)
	m.same(rt, "RecoverDeliveries", fmt.Sprint(got), fmt.Sprint(want))
}

func (m *model) rulesOnDelivery(rt *rapid.T) {
	d := one(rt, "delivery", m.queue)
	stuck := d.State == outbox.Failed || d.State == outbox.Unknown
	want := outbox.NotThus
	if rapid.IntRange(0, 3).Draw(rt, "drop") == 0 {
		if stuck || d.State == outbox.Queued {
			want, d.State = outbox.Recorded, outbox.Dropped
		}
		_, how, err := m.Store.DropDelivery(m.ctx, m.operator(m.t), d.ID, "because", m.record(event.DeliveryDropped))
		fails(rt, "DropDelivery", err, false)
		m.same(rt, "DropDelivery", how, want)
		return
	}
	r := m.record(event.DeliveryRequeued)
	if stuck {
		want, d.State, d.Attempts, d.Due = outbox.Recorded, outbox.Queued, 0, r.At
	}
	_, how, err := m.Store.RequeueDelivery(m.ctx, m.operator(m.t), d.ID, "because", r)
	fails(rt, "RequeueDelivery", err, false)
	m.same(rt, "RequeueDelivery", how, want)
}
