package storetest

import (
	"errors"
	"testing"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func ownerCases() []testCase {
	return []testCase{
		{"each owned method reaches what its scope reaches and nothing else", ownersReach},
		{"a scope of nobody, of another store or of a closed operator is refused", scopesRefused},
		{"denied lookups are audited with the true reason, out of the owner's sight", denialsAudited},
		{"a session nobody owns is nobody's, an operator's neither", disownedHidden},
		{"lists show own rows only", listsFiltered},
	}
}

// estate is one session with a row of every kind in it.
type estate struct {
	live
	question approval.Question
}

func (w *world) estate(t testing.TB, f principal.Facts) estate {
	t.Helper()
	l := w.start(t, f, bound())
	w.begin(t, l)
	if how, err := w.Store.Append(w.ctx, l.turn, l.claim, []turn.Message{w.message(l, "user", `{"text":"hi"}`)}); how != turn.Written || err != nil {
		t.Fatalf("append %q, %v", how, err)
	}
	return estate{l, w.ask(t, l)}
}

// lookups are the exact owned lookups: each answers whether by sees the row of e.
func (w *world) lookups() map[string]func(by principal.Scope, e estate) (bool, error) {
	return map[string]func(by principal.Scope, e estate) (bool, error){
		"Session": func(by principal.Scope, e estate) (bool, error) {
			_, found, err := w.Store.Session(w.ctx, by, e.session)
			return found, err
		},
		"Turns": func(by principal.Scope, e estate) (bool, error) {
			got, err := w.Store.Turns(w.ctx, by, e.session, 0, 10)
			return len(got) != 0, err
		},
		"Turn": func(by principal.Scope, e estate) (bool, error) {
			_, found, err := w.Store.Turn(w.ctx, by, e.turn)
			return found, err
		},
		"Effects": func(by principal.Scope, e estate) (bool, error) {
			got, err := w.Store.Effects(w.ctx, by, e.turn)
			return len(got) != 0, err
		},
		"Window": func(by principal.Scope, e estate) (bool, error) {
			got, err := w.Store.Window(w.ctx, by, e.session, 10, 1000)
			return len(got) != 0, err
		},
		"Question": func(by principal.Scope, e estate) (bool, error) {
			_, found, err := w.Store.Question(w.ctx, by, e.question.ID)
			return found, err
		},
		"Decide": func(by principal.Scope, e estate) (bool, error) {
			_, how, err := w.Store.Decide(w.ctx, by, e.question.ID, denial(), w.Clock.Now(), w.record(event.ApprovalDecided))
			return how != approval.NotFound && err == nil, err
		},
		"Revoke": func(by principal.Scope, e estate) (bool, error) {
			_, how, err := w.Store.Revoke(w.ctx, by, e.question.ID, w.Clock.Now(), w.record(event.ApprovalRevoked))
			return how != approval.NotFound && err == nil, err
		},
		"Events of session": func(by principal.Scope, e estate) (bool, error) {
			got, err := w.Store.Events(w.ctx, by, turn.EventQuery{Session: e.session, Limit: 10})
			return len(got) != 0, err
		},
		"Events of turn": func(by principal.Scope, e estate) (bool, error) {
			got, err := w.Store.Events(w.ctx, by, turn.EventQuery{Turn: e.turn, Limit: 10})
			return len(got) != 0, err
		},
	}
}

// denial is the operator's no.
func denial() approval.Answer {
	return approval.Answer{State: approval.Denied, By: authority.OperatorID, Reason: "no"}
}

func ownersReach(t *testing.T, w *world) {
	hers := w.estate(t, alice())
	his := w.estate(t, bob())
	child := principal.Facts{PrincipalID: "principal:delegated_agent:x", Authority: principal.DelegatedAgent, ParentSession: string(hers.session), ParentTurn: string(hers.turn)}
	born := w.estate(t, child)
	schedule := principal.Facts{PrincipalID: "principal:scheduler:x", Authority: principal.System}
	planned := w.estate(t, schedule)
	unknown := estate{live{w.ids.Turn(), w.ids.Session(), hers.claim}, approval.Question{ID: w.ids.Approval()}}
	people := map[string]struct {
		by   principal.Scope
		sees []estate
	}{
		"alice":    {w.scope(t, alice(), hers.session), []estate{hers}},
		"bob":      {w.scope(t, bob(), his.session), []estate{his}},
		"child":    {w.scope(t, child, born.session), []estate{born}},
		"schedule": {w.scope(t, schedule, planned.session), []estate{planned}},
		"operator": {w.operator(t), []estate{hers, his, born, planned}},
	}
	for method, look := range w.lookups() {
		for name, who := range people {
			for _, e := range []estate{hers, his, born, planned, unknown} {
				want := false
				for _, s := range who.sees {
					want = want || s.session == e.session
				}
				if got, err := look(who.by, e); got != want || err != nil {
					t.Errorf("%s by %s of %s: %v, want %v (%v)", method, name, e.session, got, want, err)
				}
			}
		}
	}
}

func scopesRefused(t *testing.T, w *world) {
	hers := w.estate(t, alice())
	foreign := principal.NewIssuer("sto_another")
	facts := alice()
	facts.SessionID, facts.AllowedSessions = string(hers.session), []string{string(hers.session)}
	stranger, err := foreign.Issue(facts)
	if err != nil {
		t.Fatal(err)
	}
	strangeOperator, err := foreign.Issue(operatorFacts())
	if err != nil {
		t.Fatal(err)
	}
	operator, own := w.operator(t), w.scope(t, alice(), hers.session)
	w.Issuer.Close()
	refused := map[principal.Refusal][]principal.Scope{
		principal.RefusedNobody:  {{}},
		principal.RefusedForeign: {stranger, strangeOperator},
		principal.RefusedClosed:  {operator},
	}
	methods := w.lookups()
	methods["Sessions"] = func(by principal.Scope, _ estate) (bool, error) {
		got, err := w.Store.Sessions(w.ctx, by, 0, 10)
		return len(got) != 0, err
	}
	methods["Questions"] = func(by principal.Scope, _ estate) (bool, error) {
		got, err := w.Store.Questions(w.ctx, by, "", 0, 10)
		return len(got) != 0, err
	}
	methods["Events"] = func(by principal.Scope, _ estate) (bool, error) {
		got, err := w.Store.Events(w.ctx, by, turn.EventQuery{Limit: 10})
		return len(got) != 0, err
	}
	methods["GrantPlugin"] = func(by principal.Scope, _ estate) (bool, error) {
		return w.Store.GrantPlugin(w.ctx, by, "calc", grant(t, "kv"), w.record(event.PluginGranted))
	}
	methods["RevokePlugin"] = func(by principal.Scope, _ estate) (bool, error) {
		return w.Store.RevokePlugin(w.ctx, by, "calc", grant(t, "kv"), w.record(event.PluginRevoked))
	}
	for method, look := range methods {
		for why, scopes := range refused {
			for _, by := range scopes {
				found, err := look(by, hers)
				var is *principal.RefusedError
				if found || !errors.As(err, &is) || is.Why != why || is.Principal != by.PrincipalID() {
					t.Errorf("%s by %s: found %v, %v", method, why, found, err)
				}
			}
		}
	}
	if found, err := methods["Turn"](own, hers); !found || err != nil {
		t.Errorf("closing the operator's issuer ended a conversation's scope: %v, %v", found, err)
	}
	if q, _, err := w.Store.Question(w.ctx, own, hers.question.ID); err != nil || q.State != approval.Pending {
		t.Errorf("a refused scope decided: %s, %v", q.State, err)
	}
	if got, err := w.Store.PluginGrants(w.ctx, "calc"); err != nil || len(got.Grants()) != 0 {
		t.Errorf("a refused scope granted %v, %v", got.Strings(), err)
	}
}

func denialsAudited(t *testing.T, w *world) {
	hers, his := w.estate(t, alice()), w.estate(t, bob())
	lost := w.estate(t, talker("carol"))
	w.Disown(t, lost.session)
	unknown := estate{live{w.ids.Turn(), w.ids.Session(), hers.claim}, approval.Question{ID: w.ids.Approval()}}
	mallory := w.scope(t, bob(), his.session)
	for method, look := range w.lookups() {
		for reason, e := range map[string]estate{"not_authorized": hers, "not_found": unknown, "missing_durable_owner": lost} {
			before := len(w.events(t, turn.EventQuery{Kind: event.LookupDenied}))
			if found, err := look(mallory, e); found || err != nil {
				t.Errorf("%s: found %v, %v", method, found, err)
			}
			recs := w.events(t, turn.EventQuery{Kind: event.LookupDenied})
			if len(recs) != before+1 {
				t.Errorf("%s, %s: %d records", method, reason, len(recs)-before)
				continue
			}
			r := recs[0]
			if r.Field("reason") != reason || r.Principal != bob().PrincipalID || r.Session != "" || r.Turn != "" {
				t.Errorf("%s, %s: record %+v", method, reason, r)
			}
			if known := map[string]bool{string(e.session): true, string(e.turn): true, string(e.question.ID): true}; !known[r.Field("id")] {
				t.Errorf("%s, %s: record names %q", method, reason, r.Field("id"))
			}
		}
	}
	if got, err := w.Store.Events(w.ctx, w.scope(t, alice(), hers.session), turn.EventQuery{Kind: event.LookupDenied, Limit: 10}); len(got) != 0 || err != nil {
		t.Errorf("the owner sees who looked: %+v, %v", got, err)
	}
}

func disownedHidden(t *testing.T, w *world) {
	hers := w.estate(t, alice())
	scope := w.scope(t, alice(), hers.session)
	w.Disown(t, hers.session)
	if _, found, err := w.Store.Owner(w.ctx, hers.session); found || err != nil {
		t.Fatalf("owner found %v, %v", found, err)
	}
	for method, look := range w.lookups() {
		if found, err := look(scope, hers); found || err != nil {
			t.Errorf("%s by the former owner: %v, %v", method, found, err)
		}
		found, err := look(w.operator(t), hers)
		wholeAudit := method == "Events of session" || method == "Events of turn"
		if found != wholeAudit || err != nil {
			t.Errorf("%s by an operator: %v, %v", method, found, err)
		}
	}
	if got, err := w.Store.Sessions(w.ctx, w.operator(t), 0, 10); len(got) != 0 || err != nil {
		t.Errorf("sessions %+v, %v", got, err)
	}
	if got, err := w.Store.Questions(w.ctx, w.operator(t), "", 0, 10); len(got) != 0 || err != nil {
		t.Errorf("questions %+v, %v", got, err)
	}
}

func listsFiltered(t *testing.T, w *world) {
	hers, his := w.estate(t, alice()), w.estate(t, bob())
	if err := w.Store.Record(w.ctx, w.record(event.PluginInstalled)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		by       principal.Scope
		sessions []id.Session
		records  bool
	}{
		{w.scope(t, alice(), hers.session), []id.Session{hers.session}, false},
		{w.scope(t, bob(), his.session), []id.Session{his.session}, false},
		{w.operator(t), []id.Session{his.session, hers.session}, true},
		{w.scope(t, bob(), w.ids.Session()), nil, false},
	} {
		want := map[id.Session]bool{}
		for _, s := range c.sessions {
			want[s] = true
		}
		sessions, err := w.Store.Sessions(w.ctx, c.by, 0, 10)
		if err != nil || len(sessions) != len(want) {
			t.Errorf("%s: %d sessions, %v", c.by, len(sessions), err)
		}
		questions, err := w.Store.Questions(w.ctx, c.by, approval.Pending, 0, 10)
		if err != nil || len(questions) != len(want) {
			t.Errorf("%s: %d questions, %v", c.by, len(questions), err)
		}
		records, err := w.Store.Events(w.ctx, c.by, turn.EventQuery{Limit: 100})
		if err != nil || len(want) != 0 && len(records) == 0 {
			t.Errorf("%s: %d records, %v", c.by, len(records), err)
		}
		seen := false
		for _, r := range records {
			seen = seen || r.Session == ""
			if r.Session != "" && !want[r.Session] {
				t.Errorf("%s: record of session %s", c.by, r.Session)
			}
		}
		if seen != c.records {
			t.Errorf("%s: records of no session shown: %v", c.by, seen)
		}
		for _, s := range sessions {
			if !want[s.ID] {
				t.Errorf("%s: session %s", c.by, s.ID)
			}
		}
		for _, q := range questions {
			if !want[q.Session] {
				t.Errorf("%s: question of %s", c.by, q.Session)
			}
		}
	}
}
