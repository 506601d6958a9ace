package main

// tasking is what does a background task once, for its owner, and tells of it once.
func tasking() []guard {
	const (
		tasks = "store/sqlite/task.go"
		steps = "TestContract/"
	)
	return []guard{
		{"task-fence", tasks, "const taskHeld = `id = ? AND token = ? AND epoch = ? AND fence = ? AND expires_at > ?`", "const taskHeld = `id = ? AND (token = ? OR epoch = ? OR fence = ? OR expires_at > ?)`", inSQLite, steps + "a_task_is_only_its_claim's"},
		{"task-expiry", "store/memory/task.go", " || w.Claim.Expired(rule.Millis(s.clock())) {\n\t\treturn nil", " {\n\t\treturn nil", inMemory, steps + "a_claim_that_is_over_finishes_nothing,_and_a_beat_keeps_it"},
		{"owner-of-a-task", tasks, "FROM tasks WHERE id = ? AND ` + seenTask", "FROM tasks WHERE id = ? AND (? IS NOT ? OR ? IS NOT '' OR ? IS ?)`", inSQLite, steps + "tasks_are_read_by_their_owner_and_the_operator"},
		{"owner-of-a-list-of-tasks", "store/memory/tasks.go", "if s.seesTask(by, within, w) && (state", "if (state", inMemory, steps + "tasks_are_read_by_their_owner_and_the_operator"},
		{"owner-when-a-task-ends", "store/memory/task.go", "if !s.ownerHolds(w) {\n\t\te.State", "if false {\n\t\te.State", inMemory, steps + "a_task_whose_session_changed_its_owner_tells_nobody"},
		{"owner-captured", "store/memory/task.go", "n.Owner = *one.owner", "_ = one.owner", inMemory, steps + "a_task_is_queued_by_a_running_turn,_for_the_owner_of_its_session"},
		{"one-instance", "store/memory/task.go", "if w.Instance == of {", "if false {", inMemory, steps + "a_due_time_is_fired_once,_whoever_looks"},
		{"one-open-task-for-a-scope", tasks, "\tcase around || below:\n\t\treturn task.Task{}, task.ScopeBusy, nil\n", "", inSQLite, steps + "one_task_for_an_instance,_one_open_task_for_a_write_scope"},
		{"folder-that-holds-a-scope", "store/internal/rule/taskscope.go", "a = a[:max(strings.LastIndexByte(a, '/'), 0)]", "a = \"\"", inSQLite, steps + "folders_of_which_one_holds_the_other_are_one_write_scope"},
		{"folder-in-a-scope", tasks, "case around || below:", "case around:", inSQLite, steps + "folders_of_which_one_holds_the_other_are_one_write_scope"},
		{"nested-scopes-in-memory", "store/internal/rule/taskscope.go", "(a == b || strings.HasPrefix(a, b+\"/\") || strings.HasPrefix(b, a+\"/\"))", "a == b", inMemory, steps + "folders_of_which_one_holds_the_other_are_one_write_scope"},
		{"no-task-of-an-ended-session", tasks, "AND NOT EXISTS (SELECT 1 FROM session_ends e", "OR EXISTS (SELECT 1 FROM session_ends e", inSQLite, steps + "a_task_is_queued_by_a_running_turn,_for_the_owner_of_its_session"},
		{"lost-is-not-run-again", "store/memory/task.go", "s.closeTask(w, task.Lost, rule.ReasonTaskLost(w.Task, epoch), now)", "w.State, w.Claim = task.Queued, lease.Claim{}", inMemory, steps + "what_a_dead_host_ran_is_lost,_and_nobody_runs_it_again"},
		{"cursor-moves-with-its-run", "store/sqlite/schedule.go", "AND c.digest = ? AND c.cursor_at = ?\n\t\tAND", "AND (c.digest = ? OR c.cursor_at = ? OR 1)\n\t\tAND", inSQLite, steps + "a_due_time_is_fired_once,_whoever_looks"},
		{"cursor-ahead-is-pulled-back", "store/internal/rule/task.go", "return Millis(cursor).After(Millis(now.Add(MaxAhead)))", "return Millis(cursor).IsZero() && now.IsZero()", inTask, "TestAClockThatWasAheadSilencesNoSchedule"},
		{"cursor-ahead-in-a-table", "store/sqlite/schedule.go", "AND schedule = ? AND cursor_at > ?`,", "AND schedule = ? AND cursor_at < -?`,", inSQLite, steps + "a_cursor_from_a_wrong_clock_is_pulled_back"},
		{"told-once", "store/memory/task.go", "w.Session != t.rec.Session || w.Notice != task.Waiting ||", "w.Session != t.rec.Session ||", inMemory, steps + "the_end_of_a_task_is_told_once,_with_its_message"},
		{"lost-when-its-runner-hangs", "host/task/work.go", "case <-patience.C:", "case <-make(chan time.Time):", inTask, "TestARunnerThatHeedsNoEndIsGivenUp"},
		{"runners-that-hang-are-bounded", "host/task/worker.go", "if int(w.hanging[kind].Load()) >= w.cfg.Most {", "if false {", inTask, "TestARunnerThatHeedsNoEndIsGivenUp"},
		{"beaten-while-it-runs", "host/task/work.go", "beating.Go(func() { w.beat(run, k, cancel, quit) })", "", inTask, "TestALongTaskKeepsItsClaim"},
		{"approved-plan-of-a-task", "host/exec/background.go", "if plan.Digest(string(told.Arguments)) != t.Digest {", "if false {", inExec, "TestABackgroundProgramIsHeldToItsApproval"},
		{"uncertain-before-cancelled", "host/schedules.go", "\t\treturn h.taskUncertain(ctx, \"turn_uncertain\", err.Error())", "\t\treturn h.taskFailed(ctx, \"turn_uncertain\", err.Error())", inHost, "TestACancelledRunHidesNothingUncertain"},
		{"a-model-reads-what-a-task-said", "host/task/task.go", "\treturn \"the operator can see why\"\n", "\treturn t.Summary\n", inTask, "TestAModelReadsOnlyWhatTheTaskSaid"},
		{"denied-within-a-session", "store/internal/rule/scope.go", "case !reached:", "case !reached && false:", "./store/memory", "TestContract/tasks_are_read_by_their_owner_and_the_operator"},
		{"places-of-each-kind", "host/task/worker.go", "Which{kind, w.cfg.Only}", "Which{\"\", w.cfg.Only}", inTask, "TestEachKindHasItsOwnPlaces"},
		{"one-task-alone", "host/task/worker.go", "Which{kind, w.cfg.Only}", "Which{kind, \"\"}", inTask, "TestAWorkerForOneTaskLeavesTheOthers"},
		{"arguments-of-a-task-byte-for-byte", "host/exec/start.go", "\te.SetEscapeHTML(false)\n", "", inExec, "TestABackgroundProgramIsToldWhatWasApproved"},
		{"grants-when-a-task-runs", "host/tasks.go", "if err != nil || !ready.core.Capabilities().Meets(need) {", "if _ = need; err != nil {", inExec, "TestABackgroundProgramIsHeldToItsApproval"},
		{"no-task-in-an-ended-session", "host/tasks.go", "if !found || !session.Ended.IsZero() {", "if !found || !session.Ended.IsZero() && false {", inExec, "TestABackgroundProgramIsHeldToItsApproval"},
		{"run-is-bound", "host/schedules.go", "if !c.Bind(ctx, s, key) {", "if c.Bind(ctx, s, key); false {", inHost, "TestARunThatIsEnded"},
		{"task-waits-for-a-child", "host/waits.go", "\t\tr.h.fires.Store(key, w)", "\t\t_ = w", inHost, "TestARunWhoseChildrenWaitForAPersonIsBlocked"},
		{"task-waits-for-the-prompt", "host/approval/ask.go", "\tdefer g.waits(ctx, q.Turn)()\n", "", inGate, "TestWhoeverWaitsForAPersonIsSaidTo"},
		{"task-waits-behind-a-question", "host/approval/cache.go", "\tdefer g.waits(ctx, t)()\n", "", inGate, "TestWhoeverWaitsForAPersonIsSaidTo"},
		{"task-waits-for-the-last-answer", "host/waits.go", "before != (w.open > 0) {", "n != 0 || before {", inHost, "TestATaskWaitsUntilItsLastQuestionIsAnswered"},
		{"log-bounded-in-bytes", "store/sqlite/tasklog.go", "all.LogBytes-task.MaxLogBytes", "int64(0)", inSQLite, "TestALogTakesNoMoreRoomThanItMay"},
	}
}
