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
