package main

// working is what keeps a child agent within the turn that it works for.
func working() []guard {
	const bounds = "host/turn/children.go"
	return []guard{
		{"child-capabilities", "host/plan.go", "may.Intersect(from.Turn.Core().Capabilities)", "may", inHost, "TestAChildCanDoNoMoreThanItsParent"},
		{"child-catalog", "host/effect/narrow.go", "if !ok || !sameTool(t, theirs) {", "if !ok && t.Origin != Builtin || ok && !sameTool(t, theirs) {", inEffect, "TestATurnThatWorksForAnotherIsWithinIt"},
		{"child-adapter", "host/effect/narrow.go", "if t.Adapter, err = mine.Within(theirs.Adapter); err != nil {", "if _ = mine; err != nil {", inEffect, "TestATurnThatWorksForAnotherIsWithinIt"},
		{"child-grants", "host/effect/narrow.go", "\t\tgranted: from.granted,\n", "", inEffect, "TestATurnThatWorksForAnotherGoesByItsGrants"},
		{"child-rules", "host/effect/narrow.go", "append(slices.Clone(s.Policies), from.Policies...)", "slices.Clone(s.Policies)", inEffect, "TestATurnThatWorksForAnotherIsWithinIt"},
		{"child-egress", "host/net/plugin.go", "range p.call.Within {", "range p.call.Within[:0] {", inNet, "TestEachLayerAloneRefuses/rules_of_another"},
		{"child-depth", bounds, "case of.generation >= MaxGenerations:", "case of.generation >= 20:", inTurn, "TestThereAreTwoGenerations"},
		{"child-count", bounds, "case of.children >= MaxChildren:", "case false:", inTurn, "TestWhoWorksForATurnIsBounded"},
		{"child-at-once", bounds, "case of.atWork >= MaxChildrenAtOnce:", "case false:", inTurn, "TestWhoWorksForATurnIsBounded"},
		{"child-of-a-running-turn", bounds, "\tif !runs {", "\tif r == nil {\n\t\tr = &running{family: family{maxSteps: 9, ends: now.Add(1e12)}}\n\t}\n\tif runs && false {", inTurn, "TestWhoWorksForATurnIsBounded"},
		{"child-steps", bounds, "plan.MaxSteps = min(plan.MaxSteps, of.maxSteps-of.steps)", "", inTurn, "TestAChildHasTheStepsThatItsParentHasLeft"},
		{"child-time", bounds, "plan.Timeout = min(plan.Timeout, of.ends.Sub(now))", "", inTurn, "TestAChildHasTheTimeThatItsParentHasLeft"},
		{"child-of-somebody", "host/turn/request.go", "if (r.Actor.Authority == principal.DelegatedAgent) != (r.Parent != nil) {", "if false {", inTurn, "TestWhatFailsBeforeTheStartIsARejectionAndLeavesNothing"},
		{"request-key-form", "host/turn/request.go", "if _, err := id.ParseRequest(string(r.Key)); err != nil {", "if _, err := id.ParseRequest(string(r.Key)); false && err != nil {", inTurn, "TestWhatFailsBeforeTheStartIsARejectionAndLeavesNothing"},
		{"request-key-names-one-call", "host/turn/call.go", "true, []string{tool, string(arguments)}", "true, nil", inTurn, "TestOneKeyIsOneTurn"},
		{"child-owner", "store/sqlite/children.go", "AND `+reached(\"w.session_id\")+` ORDER", "AND (? OR ? <> '') ORDER", inSQLite, "TestContract/the_children_of_a_turn_are_listed_in_order,_and_are_not_their_parent's"},
	}
}

// recovering is what finds out that a call is uncertain, and lets its tool say what became of it and do nothing else.
func recovering() []guard {
	const (
		ask   = "host/effect/reconcile.go"
		steps = "TestWhatIsNotCertainSettlesNothing/"
	)
	return []guard{
		{"unanswered-when-connected", "host/net/exchange.go", "GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) }", "", inNet, "TestARequestThatIsGivenUpWasSent"},
		{"unanswered-is-kept", "host/net/exchange.go", "if sent.Load() && (err != nil || reply.Fault != nil) {", "if sent.Load() && err != nil {", inNet, "TestARequestThatWentOutIsUnansweredUntilItsAnswerIsThere"},
		{"unanswered-when-done-and-led-on", "host/net/exchange.go", "case toGet(resp.StatusCode, x.method):", "case false:", inNet, "TestARequestThatWentOutIsUnansweredUntilItsAnswerIsThere"},
		{"unanswered-when-dropped", "host/sandbox/ability_http.go", "s.dropped = s.dropped || changes(req.Method)", "s.dropped = false", inSandbox, "TestAnAnswerThatIsDroppedIsNone"},
		{"unanswered-is-told", "host/sandbox/adapter.go", "ended.Unanswered, ended.Changed = out.Unanswered, out.Changed", "ended.Changed = out.Changed", inSandbox, "TestTheAdapterTellsOfAnUnansweredRequest"},
		{"unanswered-is-uncertain", "host/effect/invoke.go", "\tcase out.Unanswered:\n", "\tcase false:\n", inHost, "TestWhatWasSentAndNotAnsweredIsUncertain"},
		{"answered-is-noted", "host/net/exchange.go", "if !safe(method) && (status < 400 || status >= 500) {", "if false {", inNet, "TestAnAnswerToARequestThatMayChangeSomethingIsNoted"},
		{"answered-is-told", "host/sandbox/adapter.go", "ended.Unanswered, ended.Changed = out.Unanswered, out.Changed", "ended.Unanswered = out.Unanswered", inSandbox, "TestTheAdapterTellsOfAnUnansweredRequest"},
		{"answered-is-uncertain", "host/effect/invoke.go", "case !out.Changed:", "case true:", inEffect, "TestAnAnsweredRequestIsToldWhateverEndsTheTool"},
		{"answered-is-told-with-a-no", "host/effect/invoke.go", "case out.Status == Failed && out.Fault != nil:", "case out.Status == Failed && out.Fault != nil:\n\t\treturn v\n\tcase out.Status == Failed && false:", inEffect, "TestAnAnsweredRequestIsToldWhateverEndsTheTool"},
		{"reconcile-no-child", "host/reconcile.go", "if u.Actor.ParentTurn != \"\" {", "if false {", inHost, "TestNobodyIsAskedAboutAChildsCall"},
		{"reconcile-very-call", ask, "if err != nil || args.Digest() != u.Digest {", "if err != nil {", inEffect, "TestArgumentsThatWereHiddenAreNotAskedAbout"},
		{"reconcile-same-plugin", ask, "case p.entry.label != u.Plugin || ", "case ", inEffect, steps + "tool_changed"},
		{"reconcile-policy", ask, "p.policy.Action == policy.Deny {", "false && p.policy.Action == policy.Deny {", inEffect, steps + "not_allowed"},
		{"reconcile-no-files", ask, "case t.Files:", "case false:", inEffect, steps + "workspace_gone"},
		{"reconcile-deadline", ask, "context.WithTimeout(ctx, call.Deadline.Sub(now))", "context.WithCancel(ctx)", inEffect, "TestAskingHasADeadline"},
		{"reconcile-reference-hidden", ask, "set.Short(redact.ForModel, got.Reference, wire.MaxReference)", "got.Reference[:min(len(got.Reference), set.Len()+wire.MaxReference)]", inEffect, "TestAReferenceIsHiddenLikeAnyResult"},
		{"reconcile-same-revision", "host/reconcile.go", "if ready.core.Revision() != u.Revision {", "if false {", inHost, "TestNobodyIsAskedUnderAnotherRevision"},
		{"reconcile-requests-look", "host/invoke.go", "return m != http.MethodGet && m != http.MethodHead", "return m == http.MethodTrace", inHost, "TestWhoeverLooksSendsNothingThatChanges"},
		{"reconcile-values-look", "host/sandbox/reconcile.go", "func (lookingKV) Set(_ context.Context, scope KVScope, _ string, _ []byte, _ *int64) (int64, bool, error) {\n\treturn 0, false, &KVOverError{scope.Turn}", "func (l lookingKV) Set(ctx context.Context, scope KVScope, k string, v []byte, i *int64) (int64, bool, error) {\n\treturn l.KV.Set(ctx, scope, k, v, i)", inSandbox, "TestWhoeverLooksReadsValuesAndWritesNone"},
		{"reconcile-form", "host/sandbox/reconcile.go", "return r, r.Check()", "return r, nil", inSandbox, "TestAReconciliationSaysOneThing"},
		{"reconcile-own-plugin", "store/internal/rule/resolve.go", " || r.By != effect.ReconciledBy(e.Plugin)", "", inMemory, "TestContract/only_the_plugin_that_ran_an_effect_speaks_for_it,_where_its_tool_can_tell"},
		{"cancel-is-noted-first", "host/turn/cancel.go", "how, err := x.request(ctx, by, rec)\n\tswitch {", "how, err := CancelNoted, error(nil)\n\tswitch {", inTurn, "TestACancelOutlivesAHostThatIsKilled"},
		{"cancel-of-the-caller-is-noted", "host/turn/run.go", "noted := x.note(inner, a)", "noted := func() {}", inTurn, "TestACancelOutlivesAHostThatIsKilled"},
		{"cancel-noted-under-its-claim", "store/sqlite/cancel.go", "if how := st.fenced(c, t.now); how != turn.Written {", "if how := st.fenced(c, t.now); how == turn.AlreadyEnded {", inSQLite, "TestContract/who_runs_a_turn_notes_that_its_end_came,_under_its_claim_and_once"},
		{"cancel-outlives-its-host", "store/sqlite/fence.go", "rule.Orphan(uncertain, asked)", "rule.Orphan(uncertain, asked && false)", inSQLite, "TestContract/a_restart_ends_a_turn_as_cancelled_whose_end_was_asked_for"},
		{"cancel-outlives-its-host-in-memory", "store/memory/fence.go", "rule.Orphan(uncertain, t.unwanted)", "rule.Orphan(uncertain, false)", inMemory, "TestContract/a_restart_ends_a_turn_as_cancelled_whose_end_was_asked_for"},
		{"cancel-hides-nothing-uncertain", "store/internal/rule/turn.go", "\tcase uncertain:\n", "\tcase uncertain && !asked:\n", inMemory, "TestContract/a_restart_ends_a_turn_as_cancelled_whose_end_was_asked_for"},
		{"closed-hosts-begin-nothing", "host/turn/execution.go", "lanes{shut: quit}", "lanes{}", inTurn, "TestAClosedHostBeginsNoTurnThatWaited"},
		{"closed-hosts-begin-nothing-more", "host/turn/admit.go", "\tcase <-x.quit: // the", "\tcase <-make(chan struct{}): // the", inTurn, "TestATurnThatEntersAsItsHostClosesIsRefused"},
		{"keys-are-looked-up-first", "host/turn/run.go", "before, err := x.askedBefore(ctx, req, digest)\n", "var before *Record\n", inTurn, "TestARecordedTurnNeedsNoPlan"},
		{"keys-of-running-turns", "host/turn/run.go", "if errors.As(err, &no) && no.Reason", "if false && no.Reason", inTurn, "TestARunningTurnIsNamedWhereNobodyMayWait"},
		{"keys-are-their-principals", "store/sqlite/admit.go", "t.authority = ? AND t.principal_id = ? AND", "t.authority = ? AND ? <> '' AND", inSQLite, "TestContract/the_turn_of_a_request_key_is_found_by_its_principal_alone"},
		{"turn-given-up", "host/turn/over.go", "case <-patience.C:", "case <-make(chan time.Time):", inTurn, "TestAModelThatHeedsNoEndIsGivenUp"},
		{"turn-over-is-not-told", "host/turn/observe.go", "\tt.over = true\n", "", inTurn, "TestAToolThatHeedsNoEndIsUncertain"},
		{"turn-given-up-is-told", "host/turn/run.go", "w = x.givenUp(a, live)", "w = &work{x: x, a: a, live: live}", inTurn, "TestATurnThatIsGivenUpSaysWhatItDid"},
		{"recovered-says-what-it-spent", "store/sqlite/recover.go", "end.Steps, end.Usage, err = t.spent(o)", "err = error(nil)", inSQLite, "TestContract/a_recovered_turn_says_what_its_model_reported_before"},
		{"recovered-in-spite-of-a-model", "store/sqlite/recover.go", "sum(min(few.tokens_input, ?1))", "sum(few.tokens_input)", inSQLite, "TestContract/a_recovered_turn_says_what_its_model_reported_before"},
		{"recovered-in-spite-of-a-clock", "store/sqlite/recover.go", "Add(-rule.SpentBefore)", "Add(0)", inSQLite, "TestContract/a_recovered_turn_says_what_its_model_reported_before"},
		{"turn-claim-over", "host/turn/run.go", "end, err = x.cutOff(ctx, w.live, how)", "err = fmt.Errorf(\"the store answered %q\", how)", inTurn, "TestTurnsThatSleptThroughTheirClaimsAreLost"},
		{"turn-ends-later", "host/turn/run.go", "\t\tx.endLater(a, w.live)\n", "", inTurn, "TestATurnWithoutAnEndGetsOneWhileItsHostRuns"},
		{"turn-uncertain-before", "store/memory/fence.go", "e.Status == \"\" || e.Status == effect.Indeterminate", "e.Status == \"\"", inMemory, "TestContract/a_restart_ends_what_the_dead_host_left"},
		{"note-hidden", "host/prompt/left.go", "return hide(b.String())", "return b.String()", inPrompt, "TestTheNoteIsBudgetedAndHidden"},
		{"summary-gap-of-what-is-not-read", "host/prompt/compact.go", "gap = gap || c.snapshot.Older", "gap = gap || false", inPrompt, "TestASummaryWithAGapSaysSo"},
		{"summary-gap-of-what-has-no-room", "host/prompt/compact.go", "material, gap = material[1:], true", "material = material[1:]", inPrompt, "TestASummaryWithAGapSaysSo"},
		{"summary-gap-is-shown", "host/prompt/fit.go", "f.c.snapshot.Older || gap {", "f.c.snapshot.Older || gap && false {", inPrompt, "TestASummaryWithAGapSaysSo"},
		{"refused-is-kept", "host/turn/step.go", "\t\tw.refused(ctx, fit.Decision, err)\n", "", inTurn, "TestAModelThatFindsARequestTooLargeIsNotAskedItAgain"},
		{"refused-is-not-sent-again", "host/prompt/observe.go", "if o.Overflow && k.Samples >= refusedMark {", "if false {", inPrompt, "TestWhatAModelRefusedIsNotSentAgain"},
		{"note-told", "host/prompt/fit.go", "text += f.c.note", "text += \"\"", inPrompt, "TestAModelIsToldOnceWhatEarlierTurnsLeft"},
		{"notices-in-the-window", "host/turn/notice.go", "if left := room - b.Len() - len(end); len(said) > left {", "if left := room; false {", inTurn, "TestATurnIsToldAsMuchAsItsModelHasRoomFor"},
		{"notices-hidden-before-cut", "host/turn/notice.go", "said := quoted(hide(n.Summary))", "said := quoted(n.Summary)", inTurn, "TestWhatIsCutOfANoticeWasHiddenFirst"},
		{"note-hidden-before-cut", "host/prompt/left.go", "quoted(hide(string(e.Arguments)))", "quoted(string(e.Arguments))", inPrompt, "TestWhatIsCutOfTheNoteWasHiddenFirst"},
		{"note-result-hidden-before-cut", "host/prompt/left.go", "quoted(hide(string(e.Result)))", "quoted(string(e.Result))", inPrompt, "TestWhatIsCutOfTheNoteWasHiddenFirst"},
		{"note-happened", "store/memory/left.go", "if !uncertain && !unanswered[e.ID] {", "if !uncertain || unanswered[e.ID] {", inTurn, "TestWhatHappenedInATurnThatWasCutOffIsTold"},
		{"note-happened-stored", "store/sqlite/left.go", "found = append(found, more...)", "_ = more", inSQLite, "TestContract/a_call_that_ended_and_that_no_message_answers_is_told_until_a_turn_has_an_answer"},
		{"note-answered-since", "store/internal/rule/context.go", "return steps > 0 && (", "return (", inMemory, "TestContract/a_call_that_ended_and_that_no_message_answers_is_told_until_a_turn_has_an_answer"},
		{"debt-until-told", "store/sqlite/group.go", "return errors.Join(t.told.debt.messages", "delete(s.owed, of)\n\treturn errors.Join(t.told.debt.messages", inSQLite, "TestADebtIsOwedUntilItIsTold"},
		{"note-once", "store/sqlite/left.go", " AND x.at >= ?)", " AND x.at >= 0 * ?)", inSQLite, "TestContract/what_was_settled_is_told_to_one_turn,_and_what_is_open_to_every_one"},
		{"note-own-session", "store/memory/left.go", "if !s.reached(by, key) {", "if s.sessions[key] == nil {", inMemory, "TestContract/what_turns_left_is_their_owner's,_and_bounded"},
	}
}
