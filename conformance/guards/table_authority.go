package main

import "strings"

// authority is what keeps one principal's rows from another, and the audit true.
func authority() []guard {
	const (
		inPrincipal = "./policy/principal"
		inAuthority = "./host/authority"
		inSQLite    = "./store/sqlite"
	)
	contract := func(words string) string { return "TestContract/" + strings.ReplaceAll(words, " ", "_") }
	return []guard{
		{"scope-of-another-store", "policy/principal/scope.go", "\tcase s.of.issuer.store != store:", "\tcase false:", inSQLite, contract("no method that takes a scope takes a refused one")},
		{"scope-that-is-over", "policy/principal/scope.go", "\tcase !s.of.issuer.live(s.of.facts.Authority):", "\tcase false:", inSQLite, contract("no method that takes a scope takes a refused one")},
		{"everybody-ends", "policy/principal/issuer.go", "return !i.ended.Load() && (", "return (", inPrincipal, "TestNobodyOutlivesTheEnd"},
		{"no-injected-sessions", "policy/principal/issuer.go", "\tcase bound || free && f.Authority == Operator:", "\tcase bound || free || f.Authority == Operator:", inPrincipal, "TestFactsMustFitTheirAuthority"},
		{"one-spelling", "policy/principal/key.go", "} else if again != key {", "} else if again == \"\" {", inPrincipal, "TestOtherSpellingsAreRefused"},
		{"a-room-is-nobody", "policy/principal/sender.go", "\t\tif id == s.ID {", "\t\tif id == \"\" {", inPrincipal, "TestThePrincipalOfARoomIsTheSender"},
		{"key-of-its-channel", "policy/principal/issuer.go", "err != nil || at.Channel != f.Channel {", "err != nil || at.Channel == \"\" {", inPrincipal, "TestFactsMustFitTheirAuthority"},
		{"operator-on-record-first", "host/authority/resolver.go", "\tif err := r.audit.Record(ctx, rec); err != nil {\n\t\treturn principal.Scope{}, ", "\tif err := r.audit.Record(ctx, rec); false {\n\t\treturn principal.Scope{}, ", inAuthority, "TestOperatorScopeIsAuditedFirst"},
		{"only-the-owner", "host/authority/resolver.go", "\tif !found || !mayAct(actor, owner) {", "\tif !found || owner.PrincipalID == \"\" {", inAuthority, "TestOnlyTheDurableOwnerGetsASession"},
		{"child-of-an-owned-session", "host/authority/resolver.go", "\tif !found || !parent.Allows(string(session)) {", "\tif !found && !parent.Allows(string(session)) {", inAuthority, "TestAChildOwnsItsOwnSessionAndNamesItsParent"},
		{"operators-end-before-a-failure", "host/open.go", "\th.resolver.Close()\n\tturns()", "\tturns()", inHost, "TestNoScopeOutlivesAShutdownThatFails"},
		{"all-end-whatever-fails", "host/open.go", "\tdefer h.resolver.End()\n", "", inHost, "TestNoScopeOutlivesAShutdownThatFails"},
		{"notes-of-the-operator", "host/operate.go", "\tif err := h.resolver.Accept(by); err != nil {", "\tif err := h.resolver.Accept(by); false {", inHost, "TestEveryMethodOfTheHostRefusesScopes"},
		{"owner-predicate", "store/sqlite/scope.go", "(? OR o.session_id = ?)", "(1 OR ? OR o.session_id = ?)", inSQLite, contract("each owned method reaches what its scope reaches and nothing else")},
		{"uncertain-owners", "store/sqlite/scope.go", " AND o.legacy = 0 AND (", " AND (", inSQLite, contract("a session whose owner is uncertain is nobody's until it is repaired")},
		{"uncertain-owners-resume", "store/sqlite/owner.go", " AND legacy = 0`", "`", inSQLite, contract("a session whose owner is uncertain is nobody's until it is repaired")},
		{"denials-on-record", "store/sqlite/scope.go", "\tif why == \"\" {", "\tif why != \"\" {", inSQLite, contract("denied lookups are audited with the true reason, out of the owner's sight")},
		{"repairs-on-record", "store/sqlite/legacy.go", "return s.audit(t, rule.Accessed(r, q, got.Session.ID, rule.Reason(got.Why)))", "_ = r\n\t\treturn nil", inSQLite, contract("only a repair shows a session without a certain owner, and is on record")},
		{"repairs-of-the-operator", "store/sqlite/legacy.go", "rule.AcceptOperator(by, s.id)", "rule.Accept(by, s.id)", inSQLite, contract("only a repair shows a session without a certain owner, and is on record")},
		{"audit-chain", "store/sqlite/verify.go", "!bytes.Equal(chain, row.after(at.chain))", "false", inSQLite, "TestTamperingWithTheAuditIsFound"},
		{"audit-gaps", "store/sqlite/verify.go", "\t\tif row.seq != at.seq+1 {", "\t\tif false {", inSQLite, "TestTamperingWithTheAuditIsFound"},
		{"audit-end", "store/sqlite/verify.go", "\tcase end.seq > at.seq:", "\tcase false:", inSQLite, "TestTamperingWithTheAuditIsFound"},
		{"audit-head-noted", "store/sqlite/verify.go", "ok && !bytes.Equal(chain, want[:])", "ok && len(want) == 0", inSQLite, "TestANotedHeadTellsOfANewChain"},
		{"grants-on-record", "store/sqlite/grant.go", "\t\t\treturn s.audit(t, r)\n", "\t\t\treturn nil\n", inHost, "TestWhatCannotBeRecordedDoesNotHappen"},
		{"secrets-on-record", "host/credential/bind.go", "\tif err := b.audit.Record(ctx, b.record(w)); err != nil {", "\tif err := b.audit.Record(ctx, b.record(w)); err != nil && w.Tool == \"\" {", "./host/credential", "TestWhatIsNotBound"},
		{"plans-are-explained", "host/effect/explain.go", "\t\tif v := r.plan(ctx, p); v.stops() {", "\t\tif v := r.plan(ctx, p); false {", inEffect, "TestAnExplanationShowsThePlanAndRunsAsksAndRecordsNothing"},
		{"first-no-is-the-judgement", "host/judge.go", "\tcase !x.Secrets.Zero():", "\tcase false:", inHost, "TestTheFirstNoIsTheJudgement"},
		{"verdicts-of-a-table", "cli/internal/command/policy_table.go", "\tif row.Expect != string(j.Action) {", "\tif false {", "./cli/internal/command", "TestARowThatDiffersSaysInWhat"},
		{"keys-of-a-table", "host/core/value.go", "\t\t\tr.fault(child.at, \"unknown key %s%s\", quote(key), hint(key, keys))\n", "", "./host/core", "TestTableFaultsHaveAPlace"},
		{"audit-undone", "store/sqlite/group.go", "\tfor len(group) > 0 {\n\t\tt := &tx{ctx: group[0].ctx, conn: s.writer, now: s.clock()}", "\tfor t := (&tx{conn: s.writer, now: s.clock()}); len(group) > 0; {\n\t\tt.ctx = group[0].ctx", inSQLite, "TestAWriteThatIsUndoneLeavesNoGapInTheAudit"},
	}
}
