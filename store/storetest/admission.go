package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func admissionCases() []testCase {
	return []testCase{
		{"admission makes the session with its owner and records", admissionMakes},
		{"admission keeps what was asked", admissionKeeps},
		{"bound continues the conversation's session", boundContinues},
		{"bound makes a session for an owner without a conversation", boundWithoutConversation},
		{"fresh becomes the bound session", freshRebinds},
		{"same key and digest is the same turn", duplicateAnswers},
		{"same key and another digest is a conflict", conflictRefuses},
		{"a request key is its principal's own", keyIsPrivate},
		{"the turn of a request key is found by its principal alone", keyFindsTurn},
		{"a live claim makes the session busy", busyRefuses},
		{"resume of unknown and foreign sessions is one answer", resumeForeign},
		{"resume by the owner rebinds", resumeRebinds},
		{"an operator resumes any owned session and moves no binding", resumeOperator},
		{"a conversation that is bound to another principal's session is refused", boundForeign},
		{"a session nobody owns takes no turn", disownedTakesNone},
		{"malformed admissions write nothing", admissionMalformed},
	}
}

func keyFindsTurn(t *testing.T, w *world) {
	a := w.admission(alice(), bound())
	w.admit(t, a)
	rec, found, err := w.Store.Requested(w.ctx, alice(), a.Request)
	if err != nil || !found || rec != w.turnOf(t, a.Turn) || rec.Digest != a.Digest {
		t.Errorf("%+v, %v, %v", rec, found, err)
	}
	for _, who := range []principal.Facts{bob(), operatorFacts()} {
		if rec, found, err := w.Store.Requested(w.ctx, who, a.Request); err != nil || found || rec.ID != "" {
			t.Errorf("found by %s: %+v, %v", who.PrincipalID, rec, err)
		}
	}
	if _, found, err := w.Store.Requested(w.ctx, alice(), w.ids.Request()); err != nil || found {
		t.Errorf("of another key: %v, %v", found, err)
	}
}

func admissionMakes(t *testing.T, w *world) {
	a := w.admission(alice(), bound())
	got := w.admit(t, a)
	if got.Disposition != turn.Admitted || got.Session != a.NewSession || !got.Created || got.Claim.Fence != 1 {
		t.Fatalf("admittance %+v", got)
	}
	owner, found, err := w.Store.Owner(w.ctx, got.Session)
	want := alice()
	if err != nil || !found || owner.PrincipalID != want.PrincipalID || owner.Authority != want.Authority ||
		owner.Channel != want.Channel || owner.ConversationKey != want.ConversationKey ||
		owner.SessionID != string(got.Session) || !slices.Equal(owner.AllowedSessions, []string{string(got.Session)}) {
		t.Fatalf("owner %+v, %v, %v", owner, found, err)
	}
	kinds := map[event.Kind]int{}
	for _, r := range w.events(t, turn.EventQuery{Session: got.Session}) {
		kinds[r.Kind]++
		if r.Turn != a.Turn {
			t.Errorf("record %s names turn %q", r.Kind, r.Turn)
		}
	}
	if kinds[event.SessionCreated] != 1 || kinds[event.TurnStarted] != 1 || len(kinds) != 2 {
		t.Errorf("records %v", kinds)
	}
	if _, found, err := w.Store.Owner(w.ctx, w.ids.Session()); found || err != nil {
		t.Errorf("an unknown session has an owner: %v, %v", found, err)
	}
}

func admissionKeeps(t *testing.T, w *world) {
	a := w.admission(alice(), bound())
	got := w.admit(t, a)
	at := time.UnixMilli(a.At.UnixMilli()).UTC()
	want := turn.Record{
		ID: a.Turn, Session: got.Session, Request: a.Request, Digest: a.Digest, Core: a.Core, Revision: a.Revision,
		State: turn.Running, Input: a.Input, Trace: a.Trace, Started: at,
	}
	if rec := w.turnOf(t, a.Turn); rec != want {
		t.Errorf("turn %+v, want %+v", rec, want)
	}
	ses, found, err := w.Store.Session(w.ctx, w.operator(t), got.Session)
	if err != nil || !found || ses.Core != a.Core || ses.Title != "hello" || ses.Turns != 1 ||
		!ses.Created.Equal(at) || !ses.LastTurn.Equal(at) || ses.Owner.PrincipalID != alice().PrincipalID {
		t.Errorf("session %+v, %v, %v", ses, found, err)
	}
}

func boundContinues(t *testing.T, w *world) {
	first := w.ended(t, alice(), bound())
	if got, found, err := w.Store.BoundSession(w.ctx, alice()); got != first.session || !found || err != nil {
		t.Fatalf("bound session %q, %v, %v", got, found, err)
	}
	w.Clock.Advance(time.Second)
	a := w.admission(alice(), bound())
	got := w.admit(t, a)
	if got.Session != first.session || got.Created || got.Claim.Fence != 2 {
		t.Fatalf("admittance %+v", got)
	}
	if made := w.events(t, turn.EventQuery{Kind: event.SessionCreated}); len(made) != 1 {
		t.Errorf("%d session.created records for one session", len(made))
	}
	ses, _, err := w.Store.Session(w.ctx, w.operator(t), got.Session)
	if err != nil || ses.Turns != 2 || !ses.LastTurn.After(ses.Created) {
		t.Errorf("session %+v, %v", ses, err)
	}
	if other := w.ended(t, bob(), bound()); other.session == first.session {
		t.Error("two conversations share a session")
	}
}

func boundWithoutConversation(t *testing.T, w *world) {
	one, two := w.ended(t, operatorFacts(), bound()), w.ended(t, operatorFacts(), bound())
	if one.session == two.session {
		t.Error("an operator has a bound session")
	}
	if _, found, err := w.Store.BoundSession(w.ctx, operatorFacts()); found || err != nil {
		t.Errorf("bound session of an operator: %v, %v", found, err)
	}
	if _, found, err := w.Store.BoundSession(w.ctx, alice()); found || err != nil {
		t.Errorf("bound session before the first turn: %v, %v", found, err)
	}
}

func freshRebinds(t *testing.T, w *world) {
	first := w.ended(t, alice(), bound())
	second := w.ended(t, alice(), fresh())
	if first.session == second.session {
		t.Fatal("fresh continued the session")
	}
	if third := w.ended(t, alice(), bound()); third.session != second.session {
		t.Error("the fresh session is not the bound one")
	}
}

func duplicateAnswers(t *testing.T, w *world) {
	a := w.admission(alice(), bound())
	first := w.admit(t, a)
	before := len(w.events(t, turn.EventQuery{}))
	again := a
	again.Turn, again.NewSession, again.Claim.Token = w.ids.Turn(), w.ids.Session(), w.ids.Lease()
	got := w.admit(t, again) // while the session is busy with it
	if got.Disposition != turn.Duplicate || got.Existing.ID != a.Turn || got.Session != first.Session || got.Existing.State != turn.Running {
		t.Fatalf("admittance %+v", got)
	}
	w.finish(t, live{a.Turn, first.Session, first.Claim}, turn.Completed)
	got = w.admit(t, again)
	if got.Disposition != turn.Duplicate || got.Existing.Outcome != turn.Completed || got.Existing.Reply != "done" {
		t.Fatalf("admittance after the end %+v", got)
	}
	if now := len(w.events(t, turn.EventQuery{})); now != before+1 { // turn.finished
		t.Errorf("duplicates wrote %d records", now-before-1)
	}
	if recs, err := w.Store.Turns(w.ctx, w.operator(t), first.Session, 0, 10); len(recs) != 1 || err != nil {
		t.Errorf("%d turns, %v", len(recs), err)
	}
}

func conflictRefuses(t *testing.T, w *world) {
	a := w.admission(alice(), bound())
	first := w.admit(t, a)
	w.finish(t, live{a.Turn, first.Session, first.Claim}, turn.Completed)
	other := w.admission(alice(), bound())
	other.Request, other.Digest = a.Request, "d2"
	if got := w.admit(t, other); got.Disposition != turn.Conflict || got.Existing != (turn.Record{}) || got.Session != "" {
		t.Fatalf("admittance %+v", got)
	}
	if _, found, err := w.Store.Turn(w.ctx, w.operator(t), other.Turn); found || err != nil {
		t.Errorf("the conflicting turn is there: %v, %v", found, err)
	}
}

func keyIsPrivate(t *testing.T, w *world) {
	a := w.admission(alice(), bound())
	w.admit(t, a)
	b := w.admission(bob(), bound())
	b.Request = a.Request
	if got := w.admit(t, b); got.Disposition != turn.Admitted || got.Session == a.NewSession {
		t.Fatalf("another principal's key answered %+v", got)
	}
}

func busyRefuses(t *testing.T, w *world) {
	held := w.start(t, alice(), bound())
	for _, sel := range []turn.Selector{bound(), resume(held.session)} {
		a := w.admission(alice(), sel)
		if got := w.admit(t, a); got.Disposition != turn.Busy || got.Session != "" {
			t.Fatalf("%s: admittance %+v", sel.Kind, got)
		}
		if _, found, err := w.Store.Turn(w.ctx, w.operator(t), a.Turn); found || err != nil {
			t.Errorf("%s: the refused turn is there: %v, %v", sel.Kind, found, err)
		}
	}
	if got := w.admit(t, w.admission(bob(), bound())); got.Disposition != turn.Admitted {
		t.Errorf("another session was held up: %s", got.Disposition)
	}
	w.finish(t, held, turn.Completed)
	if got := w.admit(t, w.admission(alice(), bound())); got.Disposition != turn.Admitted || got.Claim.Fence != 2 {
		t.Errorf("after the end: %+v", got)
	}
}

func resumeForeign(t *testing.T, w *world) {
	hers := w.ended(t, alice(), bound())
	missing := w.ids.Session()
	foreign, unknown := w.admit(t, w.admission(bob(), resume(hers.session))), w.admit(t, w.admission(bob(), resume(missing)))
	if foreign != unknown || foreign.Disposition != turn.SessionNotFound {
		t.Fatalf("foreign %+v, unknown %+v", foreign, unknown)
	}
	denied := w.events(t, turn.EventQuery{Kind: event.LookupDenied})
	if len(denied) != 2 || denied[1].Field("reason") != "not_authorized" || denied[0].Field("reason") != "not_found" ||
		denied[1].Field("id") != string(hers.session) || denied[1].Principal != bob().PrincipalID || denied[1].Session != "" {
		t.Errorf("audit %+v", denied)
	}
}

func resumeRebinds(t *testing.T, w *world) {
	old := w.ended(t, alice(), bound())
	w.ended(t, alice(), fresh())
	if got := w.ended(t, alice(), resume(old.session)); got.session != old.session {
		t.Fatal("resume went elsewhere")
	}
	if got := w.ended(t, alice(), bound()); got.session != old.session {
		t.Error("the resumed session is not the bound one")
	}
}

func resumeOperator(t *testing.T, w *world) {
	old := w.ended(t, alice(), bound())
	current := w.ended(t, alice(), fresh())
	if got := w.ended(t, operatorFacts(), resume(old.session)); got.session != old.session {
		t.Fatal("the operator's resume went elsewhere")
	}
	if got := w.ended(t, alice(), bound()); got.session != current.session {
		t.Error("the operator moved the conversation's binding")
	}
	owner, _, err := w.Store.Owner(w.ctx, old.session)
	if err != nil || owner.PrincipalID != alice().PrincipalID {
		t.Errorf("owner is %+v, %v", owner, err)
	}
}

func boundForeign(t *testing.T, w *world) {
	hers := w.ended(t, alice(), bound())
	intruder := alice()
	intruder.PrincipalID = "principal:conversation:chat:mallory"
	if _, found, err := w.Store.BoundSession(w.ctx, intruder); found || err != nil {
		t.Errorf("another principal's bound session: %v, %v", found, err)
	}
	if got := w.admit(t, w.admission(intruder, bound())); got.Disposition != turn.SessionNotFound {
		t.Fatalf("admittance %+v", got)
	}
	denied := w.events(t, turn.EventQuery{Kind: event.LookupDenied})
	if len(denied) != 1 || denied[0].Field("reason") != "not_authorized" || denied[0].Field("id") != string(hers.session) {
		t.Errorf("audit %+v", denied)
	}
}

func disownedTakesNone(t *testing.T, w *world) {
	hers := w.ended(t, alice(), bound())
	w.Disown(t, hers.session)
	for _, f := range []principal.Facts{alice(), operatorFacts()} {
		if got := w.admit(t, w.admission(f, resume(hers.session))); got.Disposition != turn.SessionNotFound {
			t.Errorf("%s: admittance %+v", f.Authority, got)
		}
	}
	for _, r := range w.events(t, turn.EventQuery{Kind: event.LookupDenied}) {
		if r.Field("reason") != "missing_durable_owner" {
			t.Errorf("audit reason %q", r.Field("reason"))
		}
	}
}

func admissionMalformed(t *testing.T, w *world) {
	for name, change := range map[string]func(a *turn.Admission, r *[]event.Record){
		"no request":          func(a *turn.Admission, _ *[]event.Record) { a.Request = "" },
		"no digest":           func(a *turn.Admission, _ *[]event.Record) { a.Digest = "" },
		"no turn":             func(a *turn.Admission, _ *[]event.Record) { a.Turn = "" },
		"no new session":      func(a *turn.Admission, _ *[]event.Record) { a.NewSession = "" },
		"no core":             func(a *turn.Admission, _ *[]event.Record) { a.Core = "" },
		"unknown selector":    func(a *turn.Admission, _ *[]event.Record) { a.Selector.Kind = "latest" },
		"resume of nothing":   func(a *turn.Admission, _ *[]event.Record) { a.Selector = resume("") },
		"bound with a name":   func(a *turn.Admission, _ *[]event.Record) { a.Selector.Session = id.Session("ses_x") },
		"claim is over":       func(a *turn.Admission, _ *[]event.Record) { a.Claim.Expires = w.Clock.Now() },
		"claim has no epoch":  func(a *turn.Admission, _ *[]event.Record) { a.Claim.Epoch = "" },
		"nobody":              func(a *turn.Admission, _ *[]event.Record) { a.Owner = principal.Facts{} },
		"owner with session":  func(a *turn.Admission, _ *[]event.Record) { a.Owner.SessionID = "ses_x" },
		"operator with route": func(a *turn.Admission, _ *[]event.Record) { a.Owner.Authority = principal.Operator },
		"child of nobody": func(a *turn.Admission, _ *[]event.Record) {
			a.Owner = principal.Facts{PrincipalID: "p", Authority: principal.DelegatedAgent}
		},
		"no records":      func(_ *turn.Admission, r *[]event.Record) { *r = nil },
		"empty record":    func(_ *turn.Admission, r *[]event.Record) { *r = append(*r, event.Record{}) },
		"repeated record": func(_ *turn.Admission, r *[]event.Record) { *r = append(*r, (*r)[1]) },
	} {
		a, r := w.admission(alice(), bound()), w.records()
		change(&a, &r)
		if got, err := w.Store.Admit(w.ctx, a, r); err == nil {
			t.Errorf("%s: admitted %+v", name, got)
		}
	}
	if got := w.events(t, turn.EventQuery{}); len(got) != 0 {
		t.Errorf("refused admissions wrote %d records", len(got))
	}
	taken := w.ended(t, alice(), bound())
	a := w.admission(bob(), bound())
	a.NewSession = taken.session
	if got, err := w.Store.Admit(w.ctx, a, w.records()); err == nil {
		t.Errorf("a taken session id was admitted: %+v", got)
	}
	a = w.admission(bob(), bound())
	a.Turn = taken.turn
	if got, err := w.Store.Admit(w.ctx, a, w.records()); err == nil {
		t.Errorf("a taken turn id was admitted: %+v", got)
	}
	if _, found, err := w.Store.BoundSession(w.ctx, bob()); found || err != nil {
		t.Errorf("a failed admission left a binding: %v, %v", found, err)
	}
}
