package storetest

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

func authorityCases() []testCase {
	return []testCase{
		{"no method that takes a scope takes a refused one", everyMethodRefuses},
		{"a session whose owner is uncertain is nobody's until it is repaired", doubtHidden},
		{"only a repair shows a session without a certain owner, and is on record", repairShows},
		{"a look that names nothing or gives no reason is refused", repairRefuses},
		{"a child owns its own session, and its lineage is kept", childOwnsOwn},
		{"two senders of a room have a session each", roomsDivide},
		{"a search finds what its scope reaches and nothing else", searchReaches},
		{"a search is bounded and says when it did not look at all", searchBounds},
	}
}

// everyMethodRefuses finds the methods by itself, so that a new one is held to it too.
func everyMethodRefuses(t *testing.T, w *world) {
	hers := w.estate(t, alice())
	strangers := principal.NewIssuer("sto_another")
	facts := alice()
	facts.SessionID, facts.AllowedSessions = string(hers.session), []string{string(hers.session)}
	refused := map[principal.Refusal][]principal.Scope{principal.RefusedNobody: {{}}}
	for _, f := range []principal.Facts{facts, operatorFacts()} {
		stranger, err := strangers.Issue(f)
		if err != nil {
			t.Fatal(err)
		}
		refused[principal.RefusedForeign] = append(refused[principal.RefusedForeign], stranger)
		refused[principal.RefusedClosed] = append(refused[principal.RefusedClosed], w.issue(t, f))
	}
	w.Issuer.End()
	store, scopes := reflect.TypeFor[Store](), 0
	for i := range store.NumMethod() {
		m := store.Method(i)
		at := -1
		for in := range m.Type.NumIn() {
			if m.Type.In(in) == reflect.TypeFor[principal.Scope]() {
				at = in
			}
		}
		if at < 0 {
			continue
		}
		scopes++
		for why, all := range refused {
			for _, by := range all {
				args := make([]reflect.Value, m.Type.NumIn())
				for in := range args {
					args[in] = reflect.Zero(m.Type.In(in))
				}
				args[0], args[at] = reflect.ValueOf(w.ctx), reflect.ValueOf(by)
				out := reflect.ValueOf(w.Store).MethodByName(m.Name).Call(args)
				err, _ := out[len(out)-1].Interface().(error)
				var is *principal.RefusedError
				if !errors.As(err, &is) || is.Why != why || is.Principal != by.PrincipalID() {
					t.Errorf("%s by %s (%s): %v", m.Name, by, why, err)
				}
				for _, o := range out[:len(out)-1] {
					if !o.IsZero() {
						t.Errorf("%s by %s (%s) answered %v", m.Name, by, why, o)
					}
				}
			}
		}
	}
	if scopes < 14 {
		t.Errorf("only %d methods take a scope: this case no longer sees them", scopes)
	}
}

func doubtHidden(t *testing.T, w *world) {
	hers := w.ended(t, alice(), bound())
	scope := w.scope(t, alice(), hers.session)
	w.Doubt(t, hers.session)
	for _, by := range []principal.Scope{scope, w.operator(t)} {
		if _, found, err := w.Store.Session(w.ctx, by, hers.session); found || err != nil {
			t.Errorf("%s is shown it: %v, %v", by, found, err)
		}
		if _, found, err := w.Store.Turn(w.ctx, by, hers.turn); found || err != nil {
			t.Errorf("%s is shown its turn: %v, %v", by, found, err)
		}
		if got, err := w.Store.Sessions(w.ctx, by, 0, 10); len(got) != 0 || err != nil {
			t.Errorf("%s lists %+v, %v", by, got, err)
		}
		if got, err := w.Store.Turns(w.ctx, by, "", 0, 10); len(got) != 0 || err != nil {
			t.Errorf("%s lists the turns %+v, %v", by, got, err)
		}
		if got, err := w.Store.Search(w.ctx, by, turn.SearchQuery{Text: "hello", Limit: 5}); len(got.Turns) != 0 || err != nil {
			t.Errorf("%s finds %+v, %v", by, got, err)
		}
	}
	if _, found, err := w.Store.Owner(w.ctx, hers.session); found || err != nil {
		t.Errorf("it has an owner: %v, %v", found, err)
	}
	for _, f := range []principal.Facts{alice(), operatorFacts()} {
		if got := w.admit(t, w.admission(f, resume(hers.session))); got.Disposition != turn.SessionNotFound {
			t.Errorf("%s resumes it: %s", f.PrincipalID, got.Disposition)
		}
	}
	recs := w.events(t, turn.EventQuery{Kind: event.LookupDenied})
	if len(recs) != 6 {
		t.Errorf("%d denials on record, not 6", len(recs))
	}
	for _, r := range recs {
		if r.Field("reason") != "legacy_owner_requires_repair" {
			t.Errorf("record %+v", r)
		}
	}
	if next := w.ended(t, alice(), bound()); next.session == hers.session {
		t.Error("the conversation continues in it")
	}
}

func repairShows(t *testing.T, w *world) {
	doubtful, lost, sound := w.ended(t, alice(), bound()), w.ended(t, bob(), bound()), w.ended(t, talker("carol"), bound())
	w.Doubt(t, doubtful.session)
	w.Disown(t, lost.session)
	op := w.operator(t)
	for _, c := range []struct {
		name string
		q    turn.LegacyQuery
		want id.Session
		why  string
	}{
		{"uncertain", turn.LegacyQuery{Session: doubtful.session}, doubtful.session, "legacy_owner_requires_repair"},
		{"uncertain, by its turn", turn.LegacyQuery{Turn: doubtful.turn}, doubtful.session, "legacy_owner_requires_repair"},
		{"unowned", turn.LegacyQuery{Session: lost.session}, lost.session, "missing_durable_owner"},
		{"owned", turn.LegacyQuery{Session: sound.session}, "", ""},
		{"unknown", turn.LegacyQuery{Session: w.ids.Session()}, "", ""},
		{"unknown turn", turn.LegacyQuery{Turn: w.ids.Turn()}, "", ""},
	} {
		c.q.Reason = "  asked by \n carol "
		got, found, err := w.Store.Legacy(w.ctx, op, c.q)
		if err != nil || found != (c.want != "") || got.Session.ID != c.want || got.Why != c.why {
			t.Errorf("%s: %+v, %v, %v", c.name, got, found, err)
		}
		if found && (len(got.Turns) != 1 || got.Turns[0].Input != "hello\nworld") {
			t.Errorf("%s: turns %+v", c.name, got.Turns)
		}
		recs := w.events(t, turn.EventQuery{Kind: event.LegacyAccessed})
		w.Clock.Advance(time.Second)
		if r := recs[0]; r.Principal != op.PrincipalID() || r.Field("reason") != "asked by carol" || r.Field("session") != string(c.want) ||
			r.Field("found") != c.why || r.Field("id") != string(c.q.Session)+string(c.q.Turn) || r.Session != "" {
			t.Errorf("%s: record %+v", c.name, r)
		}
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.LegacyAccessed}); len(recs) != 6 {
		t.Errorf("%d records of 6 looks", len(recs))
	}
	_, found, err := w.Store.Legacy(w.ctx, w.scope(t, alice(), doubtful.session), turn.LegacyQuery{Session: doubtful.session, Reason: "mine"})
	var is *principal.RefusedError
	if found || !errors.As(err, &is) || is.Why != principal.RefusedOperator {
		t.Errorf("a conversation repairs: %v, %v", found, err)
	}
}

func repairRefuses(t *testing.T, w *world) {
	hers := w.ended(t, alice(), bound())
	w.Doubt(t, hers.session)
	for name, q := range map[string]turn.LegacyQuery{
		"nothing":     {Reason: "why"},
		"two things":  {Session: hers.session, Turn: hers.turn, Reason: "why"},
		"no reason":   {Session: hers.session, Reason: " \n"},
		"long reason": {Session: hers.session, Reason: strings.Repeat("é", 301)},
	} {
		if got, found, err := w.Store.Legacy(w.ctx, w.operator(t), q); found || err == nil {
			t.Errorf("%s: %+v, %v, %v", name, got, found, err)
		}
	}
	if recs := w.events(t, turn.EventQuery{Kind: event.LegacyAccessed}); len(recs) != 0 {
		t.Errorf("refused looks are on record as looks: %+v", recs)
	}
}

func childOwnsOwn(t *testing.T, w *world) {
	parent := w.start(t, alice(), bound())
	child := principal.Facts{
		PrincipalID: "principal:delegated_agent:x", Authority: principal.DelegatedAgent,
		ParentSession: string(parent.session), ParentTurn: string(parent.turn),
	}
	born := w.ended(t, child, bound())
	owner, found, err := w.Store.Owner(w.ctx, born.session)
	if err != nil || !found || owner.ParentSession != string(parent.session) || owner.ParentTurn != string(parent.turn) {
		t.Errorf("owner %+v, %v, %v", owner, found, err)
	}
	if row, _, err := w.Store.Session(w.ctx, w.operator(t), born.session); err != nil || row.Owner.ParentTurn != string(parent.turn) {
		t.Errorf("session %+v, %v", row, err)
	}
	if _, found, err := w.Store.Session(w.ctx, w.scope(t, child, born.session), parent.session); found || err != nil {
		t.Errorf("a child is shown its parent's session: %v, %v", found, err)
	}
	if _, found, err := w.Store.Session(w.ctx, w.scope(t, alice(), parent.session), born.session); found || err != nil {
		t.Errorf("a parent is shown its child's session: %v, %v", found, err)
	}
	sibling := child
	sibling.ParentTurn = "trn_another"
	if got := w.admit(t, w.admission(sibling, resume(born.session))); got.Disposition != turn.SessionNotFound {
		t.Errorf("a child of another turn resumes it: %s", got.Disposition)
	}
}

func roomsDivide(t *testing.T, w *world) {
	room := principal.Place{Channel: "chat", Scope: "group", IDs: []string{"9"}}
	var facts []principal.Facts
	var sessions []id.Session
	for _, who := range []string{"ann", "bea"} {
		f, err := principal.Sender{Channel: "chat", ID: who}.Room(room)
		if err != nil {
			t.Fatal(err)
		}
		facts, sessions = append(facts, f), append(sessions, w.ended(t, f, bound()).session)
	}
	for i, f := range facts {
		if again := w.ended(t, f, bound()); again.session != sessions[i] {
			t.Errorf("%s continues in %s, not %s", f.PrincipalID, again.session, sessions[i])
		}
		if got := w.admit(t, w.admission(f, resume(sessions[1-i]))); got.Disposition != turn.SessionNotFound {
			t.Errorf("%s resumes the other's session: %s", f.PrincipalID, got.Disposition)
		}
	}
}

func searchReaches(t *testing.T, w *world) {
	say := func(f principal.Facts, input string) id.Session {
		a := w.admission(f, bound())
		a.Input = input
		got := w.admit(t, a)
		w.finish(t, live{a.Turn, got.Session, got.Claim}, turn.Completed)
		return got.Session
	}
	hers := say(alice(), "Where is the BLÜE lamp?")
	his := say(bob(), "a blüe door")
	say(alice(), "nothing")
	for _, c := range []struct {
		by   principal.Scope
		text string
		want []id.Session
	}{
		{w.scope(t, alice(), hers), "blüe", []id.Session{hers}},
		{w.scope(t, bob(), his), "Blüe", []id.Session{his}},
		{w.scope(t, bob(), his), "lamp", nil},
		{w.operator(t), "BLÜE", []id.Session{his, hers}},
		{w.operator(t), "%", nil},
		{w.operator(t), "DONE", []id.Session{hers, his, hers}}, // the replies
	} {
		got, err := w.Store.Search(w.ctx, c.by, turn.SearchQuery{Text: c.text, Limit: 10})
		if err != nil || !got.Whole || len(got.Turns) != len(c.want) {
			t.Errorf("%s looks for %q: %+v, %v", c.by, c.text, got, err)
			continue
		}
		for i, f := range got.Turns {
			if f.Session != c.want[i] || f.Turn == "" || !f.Started.Equal(millis(w.Clock.Now())) ||
				!strings.Contains(strings.ToLower(f.Excerpt), strings.ToLower(c.text)) || (f.In == "reply") != (c.text == "DONE") {
				t.Errorf("%s looks for %q: %+v", c.by, c.text, f)
			}
		}
	}
}

func searchBounds(t *testing.T, w *world) {
	for range 4 {
		a := w.admission(alice(), bound())
		a.Input = strings.Repeat("é", 5000) + "needle" + strings.Repeat("é", 5000)
		got := w.admit(t, a)
		w.finish(t, live{a.Turn, got.Session, got.Claim}, turn.Completed)
	}
	for limit, whole := range map[int]bool{3: false, 4: true} {
		got, err := w.Store.Search(w.ctx, w.operator(t), turn.SearchQuery{Text: "needle", Limit: limit})
		if err != nil || len(got.Turns) != limit || got.Whole != whole {
			t.Errorf("limit %d: %d findings, whole %v, %v", limit, len(got.Turns), got.Whole, err)
		}
		for _, f := range got.Turns {
			if len(f.Excerpt) > turn.MaxExcerpt || !strings.Contains(f.Excerpt, "needle") || !strings.HasPrefix(f.Excerpt, "…é") || !strings.HasSuffix(f.Excerpt, "é…") {
				t.Errorf("excerpt of %d bytes: %q", len(f.Excerpt), f.Excerpt)
			}
		}
	}
	for _, q := range []turn.SearchQuery{
		{Text: "", Limit: 1},
		{Text: " ", Limit: 1},
		{Text: "\xff", Limit: 1},
		{Text: strings.Repeat("x", 257), Limit: 1},
		{Text: "x"},
		{Text: "x", Limit: 101},
	} {
		if got, err := w.Store.Search(w.ctx, w.operator(t), q); err == nil {
			t.Errorf("%.10q, %d: %+v", q.Text, q.Limit, got)
		}
	}
}
