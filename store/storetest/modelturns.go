package storetest

import (
	"fmt"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"pgregory.net/rapid"
)

func (m *model) advances(rt *rapid.T) {
	m.Clock.Advance(time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "milliseconds")) * time.Millisecond)
}

func (m *model) session(rt *rapid.T) id.Session {
	known := []id.Session{"ses_unknown"}
	for _, t := range m.order {
		known = append(known, t.session)
	}
	return one(rt, "session", known)
}

// admission is decided by the key, then by the session, then by its lease.
func (m *model) admits(rt *rapid.T) {
	who := one(rt, "person", []principal.Facts{alice(), bob()})
	sel := turn.Selector{Kind: one(rt, "select", []turn.Select{turn.Bound, turn.Bound, turn.Fresh, turn.Resume})}
	if sel.Kind == turn.Resume {
		sel.Session = m.session(rt)
	}
	a := m.admission(who, sel)
	if len(m.requests) > 0 && rapid.IntRange(0, 3).Draw(rt, "old key") == 0 {
		a.Request = one(rt, "request", m.requests)
	}
	a.Digest = one(rt, "digest", []string{"d1", "d1", "d2"})
	a.Claim.Epoch = one(rt, "epoch", []id.Epoch{m.epoch, m.epoch, "epo_before"})
	m.requests = append(m.requests, a.Request)

	want, session, key := turn.Admitted, sel.Session, who.PrincipalID+" "+string(a.Request)
	if sel.Kind == turn.Bound {
		session = m.bound[who.PrincipalID]
	}
	before := m.keys[key]
	rec, found, err := m.Store.Requested(m.ctx, who, a.Request)
	fails(rt, "Requested", err, false)
	m.same(rt, "a key was asked for before", found, before != nil)
	if before != nil {
		m.same(rt, "the turn of a key", rec.ID, before.turn)
	}
	switch {
	case before != nil && before.digest == a.Digest:
		want, session = turn.Duplicate, before.session
	case before != nil:
		want, session = turn.Conflict, ""
	case session != "" && m.owner[session] != who.PrincipalID:
		want, session = turn.SessionNotFound, ""
	case m.ended[session]:
		want, session = turn.SessionOver, ""
	case session != "":
		if at := m.running(session); at != nil && !m.over(at.claim) {
			want, session = turn.Busy, ""
		} else if at != nil {
			m.end(at, "")
		}
	default:
		session = a.NewSession
	}
	got, err := m.Store.Admit(m.ctx, a, m.records())
	fails(rt, "Admit", err, false)
	m.same(rt, "Admit", got.Disposition, want)
	m.same(rt, "the session of an admission", got.Session, session)
	if want == turn.Duplicate {
		m.same(rt, "the turn of a duplicate", got.Existing.ID, before.turn)
	}
	if want != turn.Admitted {
		return
	}
	if m.owner[session] == "" || sel.Kind == turn.Resume {
		m.bound[who.PrincipalID] = session
	}
	m.keys[key] = m.admitted(rt, a, got)
}

// admitted is a turn that runs from now on.
func (m *model) admitted(rt *rapid.T, a turn.Admission, got turn.Admittance) *modelTurn {
	m.fences[got.Session]++
	m.same(rt, "the fence of an admission", got.Claim.Fence, m.fences[got.Session])
	m.owner[got.Session] = a.Owner.PrincipalID
	claim := a.Claim
	claim.Fence = got.Claim.Fence
	t := &modelTurn{live: live{a.Turn, got.Session, claim}, person: a.Owner, digest: a.Digest}
	m.turns[a.Turn], m.order = t, append(m.order, t)
	return t
}

// turnUnder draws a turn and a claim, sometimes that of another.
func (m *model) turnUnder(rt *rapid.T) (*modelTurn, live) {
	t := one(rt, "turn", m.order)
	l := t.live
	if rapid.IntRange(0, 3).Draw(rt, "foreign claim") == 0 {
		l.claim = one(rt, "claim of", m.order).claim
	}
	return t, l
}

func (m *model) appends(rt *rapid.T) {
	t, l := m.turnUnder(rt)
	how, err := m.Store.Append(m.ctx, l.turn, l.claim, []turn.Message{m.message(l, "user", `{}`), m.message(l, "tool", `1`)})
	fails(rt, "Append", err, false)
	m.same(rt, "Append", how, m.fenced(t, l.claim))
	if how == turn.Written {
		t.messages += 2
	}
}

func (m *model) extends(rt *rapid.T) {
	t, l := m.turnUnder(rt)
	until := m.Clock.Now().Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "seconds")) * time.Second)
	how, err := m.Store.Extend(m.ctx, l.session, l.claim, until)
	fails(rt, "Extend", err, false)
	// The session's lease is whoever runs in it; its claim may be that of another turn.
	want, at := turn.Stale, m.running(t.session)
	if at != nil && m.fenced(at, l.claim) == turn.Written {
		want, at.claim.Expires = turn.Written, until
	}
	m.same(rt, "Extend", how, want)
}

func (m *model) finishes(rt *rapid.T) {
	t, l := m.turnUnder(rt)
	end := m.terminal(l, one(rt, "outcome", []turn.Outcome{turn.Completed, turn.Completed, turn.NeedsUser, turn.Failed, turn.Cancelled, turn.Indeterminate}))
	if end.Reply != "" && t.person.Channel != "" && rapid.Bool().Draw(rt, "owes") {
		end.Deliveries = []turn.Delivery{{ID: m.ids.Delivery(), Channel: t.person.Channel, Conversation: t.person.ConversationKey, Body: end.Reply}}
	}
	how, err := m.Store.Finish(m.ctx, end, m.recordOf(event.TurnFinished, t))
	fails(rt, "Finish", err, false)
	m.same(rt, "Finish", how, m.fenced(t, l.claim))
	if how != turn.Written {
		return
	}
	m.end(t, end.Outcome)
	for _, d := range end.Deliveries {
		q := &outbox.Delivery{ID: d.ID, Channel: d.Channel, Conversation: d.Conversation, State: outbox.Queued, Due: end.At}
		m.owed[d.ID], m.queue = q, append(m.queue, q)
	}
}

// recordOf is a record of kind about a turn.
func (m *model) recordOf(k event.Kind, t *modelTurn) event.Record {
	r := m.record(k)
	r.Turn, r.Session = t.turn, t.session
	return r
}

func (m *model) cancels(rt *rapid.T) {
	who, key := m.operator(m.t), id.Turn("trn_unknown")
	want := turn.CancelNoTurn
	if len(m.order) > 0 {
		t := one(rt, "turn", m.order)
		key = t.turn
		person := one(rt, "person", []principal.Facts{alice(), bob(), operatorFacts()})
		if person.Authority != principal.Operator {
			who = m.scope(m.t, person, t.session) // a scope over the session reaches it, whoever holds it
		}
		switch {
		case t.outcome != "":
			want = turn.CancelEnded
		case t.cancelled:
			want = turn.CancelNotedBefore
		default:
			want, t.cancelled = turn.CancelNoted, true
		}
	}
	how, err := m.Store.RequestCancel(m.ctx, who, key, m.record(event.TurnCancelAsked))
	fails(rt, "RequestCancel", err, false)
	m.same(rt, "RequestCancel", how, want)
	asked, err := m.Store.CancelRequested(m.ctx, key)
	fails(rt, "CancelRequested", err, false)
	m.same(rt, "CancelRequested", asked, key != "trn_unknown" && m.turns[key].cancelled)
}

// notesCancel has the end of a turn come from where it runs.
func (m *model) notesCancel(rt *rapid.T) {
	t, l := m.turnUnder(rt)
	r := m.recordOf(event.TurnCancelAsked, t)
	r.Principal = t.person.PrincipalID
	how, err := m.Store.NoteCancel(m.ctx, l.turn, l.claim, r)
	fails(rt, "NoteCancel", err, false)
	m.same(rt, "NoteCancel", how, m.fenced(t, l.claim))
	t.cancelled = t.cancelled || how == turn.Written
	asked, err := m.Store.CancelRequested(m.ctx, l.turn)
	fails(rt, "CancelRequested", err, false)
	m.same(rt, "CancelRequested", asked, t.cancelled)
}

func (m *model) recovers(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "rarely") != 0 {
		rt.Skip("not now")
	}
	epoch := one(rt, "epoch", []id.Epoch{m.epoch, m.epoch, "epo_next"})
	var want []turn.Recovered
	for _, t := range m.order {
		if t.outcome == "" && (t.claim.Epoch != epoch || m.over(t.claim)) {
			open := m.end(t, "")
			want = append(want, turn.Recovered{Turn: t.turn, Session: t.session, Outcome: t.outcome, Effects: open})
		}
	}
	got, err := m.Store.Recover(m.ctx, epoch, m.Clock.Now())
	fails(rt, "Recover", err, false)
	m.same(rt, "Recover", fmt.Sprint(got), fmt.Sprint(want))
}

// keepsValue is one call of the values of a plugin, under a turn or under none.
func (m *model) keepsValue(rt *rapid.T) {
	scope, key := scopeOf("notes", one(rt, "principal", []string{"alice", "bob"})), one(rt, "key", []string{"a", "b"})
	live := false
	if len(m.order) > 0 {
		t := one(rt, "turn", m.order)
		scope.Turn, live = t.turn, t.outcome == "" && !m.over(t.claim)
	}
	at := scope.Principal + " " + key
	have := m.values[at]
	var condition *int64
	if rapid.Bool().Draw(rt, "conditional") {
		v := one(rt, "version", []int64{have.version, have.version, 0, 1, 2})
		condition = &v
	}
	fits := condition == nil || *condition == have.version
	switch one(rt, "act", []string{"set", "set", "delete", "get"}) {
	case "set":
		value := fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "value"))
		version, ok, err := m.Store.Set(m.ctx, scope, key, []byte(value), condition)
		fails(rt, "Set", err, !live)
		m.same(rt, "Set", ok, live && fits)
		if ok {
			want := have.version + 1
			if have.version == 0 {
				want = m.retired[scope.Principal] + 1
			}
			m.same(rt, "the version of a value", version, want)
			m.values[at] = modelValue{value, want}
		}
	case "delete":
		ok, err := m.Store.Delete(m.ctx, scope, key, condition)
		fails(rt, "Delete", err, !live)
		m.same(rt, "Delete", ok, live && fits)
		if ok {
			m.retired[scope.Principal] = max(m.retired[scope.Principal], have.version)
			delete(m.values, at)
		}
	case "get":
		value, version, err := m.Store.Get(m.ctx, scope, key)
		fails(rt, "Get", err, false)
		m.same(rt, "Get", modelValue{string(value), version}, have)
	}
}
