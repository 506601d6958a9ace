package principal_test

import (
	"errors"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/principal"
)

func conversation() principal.Facts {
	return principal.Facts{
		PrincipalID: "principal:conversation:telegram:42", Authority: principal.Conversation,
		Channel: "telegram", ConversationKey: "telegram:dm:42",
		SessionID: "ses_a", AllowedSessions: []string{"ses_a"},
	}
}

func operator() principal.Facts {
	return principal.Facts{PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "list sessions"}
}

func TestZeroScopeAuthorisesNothing(t *testing.T) {
	var nobody principal.Scope
	if !nobody.Zero() || nobody.Allows("ses_a") || nobody.CrossSession() || nobody.PrincipalID() != "" {
		t.Fatal("the zero scope authorises something")
	}
	if got := nobody.RefusedBy("s"); got != principal.RefusedNobody {
		t.Fatalf("RefusedBy = %q", got)
	}
}

func TestConversationReachesOnlyItsSession(t *testing.T) {
	s, err := principal.NewIssuer("s").Issue(conversation())
	if err != nil {
		t.Fatal(err)
	}
	if !s.Allows("ses_a") || s.Allows("ses_b") || s.Allows("") || s.CrossSession() {
		t.Fatalf("conversation scope %v reaches the wrong sessions", s)
	}
}

func TestOperatorEndsWithItsIssuer(t *testing.T) {
	i := principal.NewIssuer("s")
	op, err := i.Issue(operator())
	if err != nil {
		t.Fatal(err)
	}
	conv, err := i.Issue(conversation())
	if err != nil {
		t.Fatal(err)
	}
	if !op.Allows("ses_b") || !op.CrossSession() {
		t.Fatal("a live operator must reach other sessions")
	}
	i.Close()
	i.Close()
	if op.Allows("ses_b") || op.CrossSession() || op.RefusedBy("s") != principal.RefusedClosed {
		t.Fatal("operator authority outlived its host")
	}
	if conv.RefusedBy("s") != "" || !conv.Allows("ses_a") {
		t.Fatal("closing the operator capability must not end a running conversation")
	}
	if _, err := i.Issue(operator()); err == nil {
		t.Fatal("a closed issuer minted an operator")
	}
}

func TestNobodyOutlivesTheEnd(t *testing.T) {
	i := principal.NewIssuer("s")
	var all []principal.Scope
	for _, f := range []principal.Facts{
		conversation(), operator(),
		{PrincipalID: "p", Authority: principal.System, SessionID: "s", AllowedSessions: []string{"s"}},
		{PrincipalID: "p", Authority: principal.DelegatedAgent, SessionID: "s", AllowedSessions: []string{"s"}, ParentSession: "t", ParentTurn: "u"},
	} {
		s, err := i.Issue(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	i.End()
	i.End()
	for _, s := range all {
		if s.RefusedBy("s") != principal.RefusedClosed || s.Allows(s.SessionID()) || s.CrossSession() {
			t.Errorf("%s authority outlived its host: %q", s.Authority(), s.RefusedBy("s"))
		}
	}
	if _, err := i.Issue(conversation()); err == nil {
		t.Error("an ended issuer minted a conversation")
	}
}

func TestScopeOfAnotherStoreIsRefused(t *testing.T) {
	s, err := principal.NewIssuer("sto_a").Issue(conversation())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.RefusedBy("sto_b"); got != principal.RefusedForeign {
		t.Fatalf("RefusedBy = %q, want foreign_store", got)
	}
	if got := s.RefusedBy("sto_a"); got != "" {
		t.Fatalf("RefusedBy its own store = %q", got)
	}
}

func TestFactsMustFitTheirAuthority(t *testing.T) {
	change := func(f principal.Facts, do func(*principal.Facts)) principal.Facts { do(&f); return f }
	for name, f := range map[string]principal.Facts{
		"no authority":            change(conversation(), func(f *principal.Facts) { f.Authority = "root" }),
		"no principal":            change(conversation(), func(f *principal.Facts) { f.PrincipalID = "" }),
		"conversation no route":   change(conversation(), func(f *principal.Facts) { f.Channel = "" }),
		"conversation 2 sessions": change(conversation(), func(f *principal.Facts) { f.AllowedSessions = []string{"ses_a", "ses_b"} }),
		"conversation other":      change(conversation(), func(f *principal.Facts) { f.AllowedSessions = []string{"ses_b"} }),
		"conversation reason":     change(conversation(), func(f *principal.Facts) { f.Reason = "x" }),
		"operator no reason":      change(operator(), func(f *principal.Facts) { f.Reason = "" }),
		"operator long reason":    change(operator(), func(f *principal.Facts) { f.Reason = string(make([]byte, 201)) }),
		"operator injects":        change(operator(), func(f *principal.Facts) { f.AllowedSessions = []string{"ses_a", "ses_b"} }),
		"operator half bound":     change(operator(), func(f *principal.Facts) { f.SessionID = "ses_a" }),
		"key of another channel":  change(conversation(), func(f *principal.Facts) { f.Channel = "slack" }),
		"key is not canonical":    change(conversation(), func(f *principal.Facts) { f.ConversationKey = "telegram:dm:4%32" }),
		"operator with route":     change(operator(), func(f *principal.Facts) { f.Channel = "telegram" }),
		"system with route":       {PrincipalID: "p", Authority: principal.System, Channel: "c", SessionID: "s", AllowedSessions: []string{"s"}},
		"system unbound":          {PrincipalID: "p", Authority: principal.System},
		"child no parent":         {PrincipalID: "p", Authority: principal.DelegatedAgent, SessionID: "s", AllowedSessions: []string{"s"}},
		"child is parent":         {PrincipalID: "p", Authority: principal.DelegatedAgent, SessionID: "s", AllowedSessions: []string{"s"}, ParentSession: "s"},
	} {
		var bad *principal.FactsError
		if _, err := principal.NewIssuer("s").Issue(f); !errors.As(err, &bad) {
			t.Errorf("%s: Issue gave %v", name, err)
		}
	}
}

func TestScopeIsFrozen(t *testing.T) {
	f := conversation()
	s, err := principal.NewIssuer("s").Issue(f)
	if err != nil {
		t.Fatal(err)
	}
	f.AllowedSessions[0] = "ses_b"
	s.AllowedSessions()[0] = "ses_b"
	if s.Allows("ses_b") || !s.Allows("ses_a") {
		t.Fatal("a scope changed after issue")
	}
}
