package main

// delivering is what brings a reply out once, in order, and never twice by itself.
func delivering() []guard {
	const (
		claims = "store/sqlite/delivery.go"
		steps  = "TestContract/"
	)
	return []guard{
		{"intent-in-the-transaction", "store/sqlite/fence.go", "err := rule.Terminal(end, r)\n", "err := rule.Terminal(end, r)\n\tif err == nil {\n\t\terr = s.write(ctx, func(t *tx) error { return t.insertDeliveries(end) })\n\t\tend.Deliveries = nil\n\t}\n", inCrash, "TestKilledAtEverySystemCall"},
		{"an-intent-for-each-reply", "host/turn/run.go", "owed := x.deliveries(a, end)", "owed := []Delivery(nil)", inTurn, "TestAConversationIsOwedItsReplyOnceAndAnOperatorNothing"},
		{"unknown-is-not-replayed", "host/outbox/send.go", "case s.Idempotent() && d.Attempts < maxAttempts:", "case d.Attempts < maxAttempts:", inOutbox, "TestWhatMayHaveLeftIsSentAgainOnlyOverAnIdempotentChannel"},
		{"unknown-under-another-sender", "host/outbox/send.go", "if before.Attempts > 0 && before.Idempotent && !s.Idempotent() {", "if before.Attempts < 0 {", inOutbox, "TestWhatMayHaveLeftIsNotSentOverAnotherSender"},
		{"unknown-when-its-sender-hangs", "host/outbox/send.go", "case <-patience.C:", "case <-make(chan time.Time):", inOutbox, "TestASenderThatHeedsNoEndIsGivenUp"},
		{"senders-that-hang-are-bounded", "host/outbox/worker.go", "if out.Load() >= maxHanging {", "if false {", inOutbox, "TestASenderThatHeedsNoEndIsGivenUp"},
		{"unknown-after-a-crash", "store/internal/rule/delivery.go", "if d.State == outbox.Claimed || d.Idempotent {", "if d.State.Held() {", inSQLite, steps + "what_may_have_left_is_not_queued_again,_unless_its_channel_is_idempotent"},
		{"written-before-it-is-sent", "host/outbox/send.go", "\tif err != nil || how != Written {\n", "\tif false {\n", inOutbox, "TestNothingIsSentThatIsNotWrittenDownFirst"},
		{"woken-by-a-turn", "host/turn/run.go", "\t\t\tx.cfg.Owed(d.Channel)\n", "\t\t\t_ = d\n", inTurn, "TestAConversationIsOwedItsReplyOnceAndAnOperatorNothing"},
		{"woken-at-once", "host/outbox/worker.go", "\tcase w.bells[channel] <- struct{}{}:\n", "", inOutbox, "TestAWakeUpSendsAtOnce"},
		{"wake-ups-are-kept", "host/outbox/worker.go", "make(chan struct{}, 1)", "make(chan struct{})", inOutbox, "TestAWakeUpDuringAnAttemptIsKept"},
		{"claim-fence", claims, "const held = `id = ? AND token = ? AND epoch = ? AND fence = ? AND expires_at > ?`", "const held = `id = ? AND (token = ? OR epoch = ? OR fence = ? OR expires_at > ?)`", inSQLite, steps + "a_delivery_is_only_its_claim's"},
		{"claim-expiry", claims, "AND fence = ? AND expires_at > ?`", "AND fence = ? AND (expires_at > 0 OR ? = 0)`", inSQLite, steps + "a_claim_that_is_over_settles_nothing"},
		{"order-in-a-conversation", claims, "AND (e.seq < d.seq OR e.state <> 'queued'))", "AND e.state <> 'queued')", inSQLite, steps + "a_conversation_is_delivered_in_order"},
		{"one-at-a-time-in-a-conversation", claims, "AND (e.seq < d.seq OR e.state <> 'queued'))", "AND e.seq < d.seq)", inSQLite, steps + "a_conversation_is_delivered_in_order"},
		{"own-conversation", "store/memory/delivery.go", "o == nil || o.Channel != d.Channel || o.ConversationKey != d.Conversation", "o == nil", inMemory, steps + "malformed_deliveries_write_nothing"},
		{"operator-decides-about-deliveries", "store/sqlite/deliveries.go", "rule.AcceptOperator(by, s.id)", "rule.Accept(by, s.id)", inSQLite, steps + "the_operator_decides_about_deliveries,_and_nobody_else"},
		{"owner-of-a-delivery", "store/sqlite/deliveries.go", "FROM deliveries d WHERE d.id = ? AND ` + reached(\"d.session_id\")", "FROM deliveries d WHERE d.id = ? AND ? IS NOT ?`", inSQLite, steps + "deliveries_are_listed_newest_first,_by_state_and_owner"},
	}
}
