package authority_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// owners is a store of owner rows and audit records.
type owners struct {
	rows    map[id.Session]principal.Facts
	records []event.Record
	fail    error
}

func (o *owners) StoreID() id.Store { return "sto_test" }

func (o *owners) Owner(_ context.Context, s id.Session) (principal.Facts, bool, error) {
	f, ok := o.rows[s]
	return f, ok, o.fail
}

func (o *owners) Record(_ context.Context, r event.Record) error {
	if o.fail != nil {
		return o.fail
	}
	o.records = append(o.records, r)
	return nil
}

func resolver(o *owners) *authority.Resolver {
	return authority.NewResolver(o, o, time.Now, id.NewSource(time.Now, rand.Reader))
}

func telegram(user string) principal.Facts {
	return principal.Facts{
		PrincipalID: "principal:conversation:telegram:" + user, Authority: principal.Conversation,
		Channel: "telegram", ConversationKey: "telegram:dm:" + user,
	}
}

func TestOperatorScopeIsAuditedFirst(t *testing.T) {
	o := &owners{}
	r := resolver(o)
	scope, err := r.Operator(t.Context(), "  look   at sessions ")
	if err != nil || !scope.CrossSession() {
		t.Fatal(scope, err)
	}
	if len(o.records) != 1 || o.records[0].Kind != event.OperatorIssued || o.records[0].Field("reason") != "look at sessions" {
		t.Fatalf("%+v", o.records)
	}
	o.fail = errors.New("disk full")
	if scope, err := r.Operator(t.Context(), "again"); err == nil || !scope.Zero() {
		t.Fatal("an operator scope without its audit row")
	}
}

func TestOperatorNeedsAReasonAndAnOpenHost(t *testing.T) {
	r := resolver(&owners{})
	for _, reason := range []string{"", " \t ", strings.Repeat("x", 201)} {
		var bad *principal.FactsError
		if _, err := r.Operator(t.Context(), reason); !errors.As(err, &bad) {
			t.Errorf("reason %.10q: %v", reason, err)
		}
	}
	scope, err := r.Operator(t.Context(), "kept past the end")
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if scope.CrossSession() || scope.Allows("ses_a") {
		t.Fatal("operator authority outlived its host")
	}
	if _, err := r.Operator(t.Context(), "after the end"); err == nil {
		t.Fatal("a closed host issued operator authority")
	}
}

func TestOnlyTheDurableOwnerGetsASession(t *testing.T) {
	mine := telegram("1")
	o := &owners{rows: map[id.Session]principal.Facts{"ses_mine": mine, "ses_theirs": telegram("2")}}
	r := resolver(o)
	scope, err := r.Session(t.Context(), mine, "ses_mine")
	if err != nil || !scope.Allows("ses_mine") || scope.Allows("ses_theirs") {
		t.Fatal(scope, err)
	}
	unknown, foreign := "", ""
	for session, text := range map[id.Session]*string{"ses_none": &unknown, "ses_theirs": &foreign} {
		var hidden *authority.UnownedError
		_, err := r.Session(t.Context(), mine, session)
		if !errors.As(err, &hidden) {
			t.Fatalf("%s: %v", session, err)
		}
		*text = strings.ReplaceAll(err.Error(), string(session), "")
	}
	if unknown != foreign {
		t.Fatalf("unknown and foreign differ: %q, %q", unknown, foreign)
	}
}

func TestEqualPrincipalInAnotherConversationIsNotTheOwner(t *testing.T) {
	owner := telegram("1")
	o := &owners{rows: map[id.Session]principal.Facts{"ses_a": owner}}
	other := owner
	other.ConversationKey = "telegram:group:9"
	if _, err := resolver(o).Session(t.Context(), other, "ses_a"); err == nil {
		t.Fatal("another conversation of the same principal got the session")
	}
}

func TestASupposedScopeReachesNothingElse(t *testing.T) {
	scope, err := resolver(&owners{}).Suppose("ses_nowhere")
	if err != nil || scope.CrossSession() || scope.Allows("ses_a") || !scope.Allows("ses_nowhere") {
		t.Fatal(scope, err)
	}
}

func TestDeniedSessionsAreOnRecordWithTheTrueReason(t *testing.T) {
	mine := telegram("1")
	o := &owners{rows: map[id.Session]principal.Facts{"ses_theirs": telegram("2")}}
	r := resolver(o)
	for session, want := range map[id.Session]string{"ses_theirs": "not_authorized", "ses_none": "missing_durable_owner"} {
		o.records = nil
		if _, err := r.Session(t.Context(), mine, session); err == nil {
			t.Errorf("%s: a scope", session)
		}
		if len(o.records) != 1 || o.records[0].Kind != event.LookupDenied || o.records[0].Field("reason") != want ||
			o.records[0].Field("id") != string(session) || o.records[0].Principal != mine.PrincipalID {
			t.Errorf("%s: records %+v", session, o.records)
		}
	}
}

func TestAScheduleReachesTheSessionOfItsRunOnly(t *testing.T) {
	o := &owners{rows: map[id.Session]principal.Facts{}}
	r := resolver(o)
	run, err := r.Schedule("assistant", "daily", "run_1")
	if err != nil {
		t.Fatal(err)
	}
	next, err := r.Schedule("assistant", "daily", "run_2")
	if err != nil {
		t.Fatal(err)
	}
	o.rows["ses_run"], o.rows["ses_next"], o.rows["ses_ann"] = run, next, telegram("1")
	scope, err := r.Session(t.Context(), run, "ses_run")
	if err != nil || scope.Authority() != principal.System || !scope.Allows("ses_run") || scope.Allows("ses_ann") || scope.CrossSession() {
		t.Errorf("%s, %v", scope, err)
	}
	for _, other := range []id.Session{"ses_next", "ses_ann"} {
		if got, err := r.Session(t.Context(), run, other); err == nil {
			t.Errorf("a scope for %s: %s", other, got)
		}
	}
	if got, err := r.Schedule("", "daily", "run"); err == nil {
		t.Errorf("a run of no core: %+v", got)
	}
}

func TestAChildOwnsItsOwnSessionAndNamesItsParent(t *testing.T) {
	ann := telegram("1")
	o := &owners{rows: map[id.Session]principal.Facts{"ses_parent": ann}}
	r := resolver(o)
	parent, err := r.Session(t.Context(), ann, "ses_parent")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := r.Child(t.Context(), parent, "trn_1", "eff_1")
	if err != nil || facts.ParentSession != "ses_parent" || facts.ParentTurn != "trn_1" || facts.Authority != principal.DelegatedAgent {
		t.Fatalf("%+v, %v", facts, err)
	}
	o.rows["ses_child"] = facts
	child, err := r.Session(t.Context(), facts, "ses_child")
	if err != nil || !child.Allows("ses_child") || child.Allows("ses_parent") || parent.Allows("ses_child") ||
		child.ParentSession() != "ses_parent" || child.ParentTurn() != "trn_1" {
		t.Errorf("child %s, %v", child, err)
	}
	if got, err := r.Session(t.Context(), facts, "ses_parent"); err == nil {
		t.Errorf("a child got its parent's session: %s", got)
	}
	sibling, err := r.Child(t.Context(), parent, "trn_1", "eff_2")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Session(t.Context(), sibling, "ses_child"); err == nil {
		t.Errorf("a sibling got the child's session: %s", got)
	}
	delete(o.rows, "ses_parent")
	var hidden *authority.UnownedError
	if got, err := r.Child(t.Context(), parent, "trn_1", "eff_3"); !errors.As(err, &hidden) {
		t.Errorf("a child of a session nobody owns: %+v, %v", got, err)
	}
	var refused *principal.RefusedError
	if got, err := r.Child(t.Context(), principal.Scope{}, "trn_1", "eff_4"); !errors.As(err, &refused) {
		t.Errorf("a child of nobody: %+v, %v", got, err)
	}
	r.End()
	if got, err := r.Child(t.Context(), parent, "trn_1", "eff_5"); !errors.As(err, &refused) || refused.Why != principal.RefusedClosed {
		t.Errorf("a child after the end: %+v, %v", got, err)
	}
}

func TestOnlyALiveOperatorOfThisStoreIsAccepted(t *testing.T) {
	r := resolver(&owners{})
	op, err := r.Operator(t.Context(), "look")
	if err != nil || r.Accept(op) != nil {
		t.Fatal(err, r.Accept(op))
	}
	system, err := r.Suppose("ses_a")
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	for why, by := range map[principal.Refusal]principal.Scope{
		principal.RefusedNobody: {}, principal.RefusedOperator: system, principal.RefusedClosed: op,
	} {
		var refused *principal.RefusedError
		if err := r.Accept(by); !errors.As(err, &refused) || refused.Why != why {
			t.Errorf("%s: %v", why, err)
		}
	}
}
