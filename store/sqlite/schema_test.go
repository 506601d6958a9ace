package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSchemaRefuses holds the rules that stand below the program: each statement would break one, and each is
// refused by the schema itself, with nothing changed.
func TestSchemaRefuses(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	must := func(query string) {
		t.Helper()
		if err := s.write(t.Context(), func(t *tx) error { _, err := t.exec(query); return err }); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	const (
		turnColumns = `(id, session_id, authority, principal_id, request, digest, core, revision, capabilities, trace, input,
			state, reason, reply, steps, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, started_at, finished_at)`
		effectColumns = `(id, session_id, turn_id, call_id, tool, plugin, recovery, digest, arguments, approval_id, status,
			reason, durable, duration_ms, started_at, finished_at)`
		questionColumns = `(id, session_id, turn_id, effect_id, principal_id, core, tool, plugin, risk, needs, why, arguments,
			digest, rule_key, cacheable, asked_at, expires_at, state, reach, decided_by, reason, decided_at)`
	)
	turnRow := func(id, session, request, state, reason, reply, finished string) string {
		return `INSERT INTO turns ` + turnColumns + ` VALUES ('` + id + `', '` + session + `', 'operator', 'p', '` + request +
			`', 'd', 'c', 'r', 'f', 't', 'i', '` + state + `', '` + reason + `', '` + reply + `', 0, 0, 0, 0, 0, 1, ` + finished + `)`
	}
	effectRow := func(id, turn, recovery, status, started, finished string) string {
		return `INSERT INTO effects ` + effectColumns + ` VALUES ('` + id + `', 'ses_1', '` + turn + `', '', 'x', '', '` +
			recovery + `', 'd', '{}', '', '` + status + `', '', '', 0, ` + started + `, ` + finished + `)`
	}
	questionRow := func(id, turn, state, reach, by, decided string) string {
		return `INSERT INTO approvals ` + questionColumns + ` VALUES ('` + id + `', 'ses_1', '` + turn +
			`', 'e', 'p', 'c', 'x', '', 'low', '[]', '', '', 'd', '', 0, 10, 20, '` + state + `', '` + reach + `', '` + by + `', '', ` + decided + `)`
	}
	for _, session := range []string{"ses_1", "ses_2"} {
		must(`INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at) VALUES ('` + session + `', 'c', '', 0, 5, 1, 1)`)
		must(`INSERT INTO session_owners VALUES ('` + session + `', 'operator', 'p', '', '', '', '', 0)`)
	}
	must(turnRow("trn_over", "ses_1", "q0", "running", "", "", "NULL"))
	must(effectRow("eff_over", "trn_over", "read", "", "1", "NULL"))
	must(`UPDATE effects SET status = 'failed', finished_at = 2 WHERE id = 'eff_over'`)
	for _, recovery := range []string{"read", "idempotent", "manual", "reconcile"} {
		must(effectRow("eff_lost_"+recovery, "trn_over", recovery, "", "1", "NULL"))
		must(`UPDATE effects SET status = 'indeterminate', finished_at = 2 WHERE id = 'eff_lost_` + recovery + `'`)
	}
	must(effectRow("eff_settled", "trn_over", "manual", "", "1", "NULL"))
	must(`UPDATE effects SET status = 'indeterminate', finished_at = 2 WHERE id = 'eff_settled'`)
	must(`INSERT INTO effect_resolutions VALUES ('eff_settled', 'happened', 'seen', 'p', 3, '')`)
	must(`UPDATE turns SET state = 'completed', finished_at = 2 WHERE id = 'trn_over'`)
	must(turnRow("trn_1", "ses_1", "q1", "running", "", "", "NULL"))
	must(`INSERT INTO leases VALUES ('ses_1', 'trn_1', 'tok', 'epo', 6, 100)`)
	must(effectRow("eff_1", "trn_1", "read", "", "1", "NULL"))
	must(questionRow("apr_1", "trn_1", "pending", "", "", "NULL"))
	must(questionRow("apr_over", "trn_1", "pending", "", "", "NULL"))
	must(`UPDATE approvals SET state = 'denied', decided_at = 11 WHERE id = 'apr_over'`)
	must(strings.Replace(questionRow("apr_used", "trn_1", "pending", "", "", "NULL"), "'', 0, 10", "'', 1, 10", 1))
	must(`UPDATE approvals SET state = 'allowed', reach = 'session', decided_by = 'p', decided_at = 11 WHERE id = 'apr_used'`)
	must(`UPDATE approvals SET used_at = 12 WHERE id = 'apr_used'`)
	must(questionRow("apr_once", "trn_1", "pending", "", "", "NULL"))
	must(`UPDATE approvals SET state = 'allowed', reach = 'once', decided_by = 'p', decided_at = 11, used_at = 12 WHERE id = 'apr_once'`)
	must(`INSERT INTO messages (id, session_id, turn_id, role, body, at) VALUES ('msg_1', 'ses_1', 'trn_1', 'user', '{}', 1)`)
	must(`INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at) VALUES ('ses_chat', 'c', '', 0, 5, 1, 1)`)
	must(`INSERT INTO session_owners VALUES ('ses_chat', 'conversation', 'p', 'chat', 'chat:dm:a', '', '', 0)`)
	deliveryRow := func(id, session, turn, key, state, attempts string) string {
		return `INSERT INTO deliveries (id, session_id, turn_id, channel, conversation_key, body, state, attempts, idempotent, due_at,
			token, epoch, fence, expires_at, reason, created_at, changed_at) VALUES ('` + id + `', '` + session + `', '` + turn + `', 'chat', '` + key +
			`', 'b', '` + state + `', ` + attempts + `, 0, 1, '', '', 0, 0, '', 1, 1)`
	}
	const (
		taken   = `UPDATE deliveries SET state = 'claimed', token = 't', epoch = 'e', fence = fence + 1, expires_at = 9 WHERE id = `
		sent    = `UPDATE deliveries SET state = 'sending', attempts = attempts + 1 WHERE id = `
		settled = `UPDATE deliveries SET token = '', epoch = '', reason = 'x', state = `
	)
	must(turnRow("trn_chat", "ses_chat", "q9", "running", "", "", "NULL"))
	for _, id := range []string{"'dlv_queued'", "'dlv_claimed'", "'dlv_sending'", "'dlv_over'", "'dlv_unknown'"} {
		must(deliveryRow(strings.Trim(id, "'"), "ses_chat", "trn_chat", "chat:dm:a", "queued", "0"))
		if id != "'dlv_queued'" {
			must(taken + id)
		}
		if id != "'dlv_queued'" && id != "'dlv_claimed'" {
			must(sent + id)
		}
	}
	must(settled + `'delivered' WHERE id = 'dlv_over'`)
	must(settled + `'unknown' WHERE id = 'dlv_unknown'`)
	must(`INSERT INTO events (id, at, kind, principal_id, session_id, turn_id, effect_id, trace, fields) VALUES ('evt_1', 1, 'k', '', '', '', '', '', '[]')`)
	must(`INSERT INTO cancel_requests VALUES ('trn_1', 'p', 3)`)
	taskRow := func(id, instance, scope, turn, principal, state string) string {
		return `INSERT INTO tasks (id, kind, state, instance, session_id, turn_id, authority, principal_id, channel, conversation_key, parent_session,
			parent_turn, core, schedule, due_at, title, spec, digest, write_scope, token, epoch, fence, expires_at, unwanted, reason, summary, notice,
			told_turn, log_bytes, log_lines, created_at) VALUES ('` + id + `', 'process', '` + state + `', '` + instance + `', 'ses_1', '` + turn + `', 'operator', '` +
			principal + `', '', '', '', '', 'c', '', NULL, 't', '{}', '', '` + scope + `', '', '', 0, 0, 0, '', '', '', '', 0, 0, 1)`
	}
	const (
		begun = `UPDATE tasks SET state = 'running', token = 't', epoch = 'e', fence = fence + 1, expires_at = 9, started_at = 2 WHERE id = `
		over  = `UPDATE tasks SET token = '', epoch = '', ended_at = 3, reason = 'x', notice = 'waiting', state = `
	)
	for _, id := range []string{"tsk_queued", "tsk_running", "tsk_lost"} {
		must(taskRow(id, "i_"+id, "s_"+id, "trn_1", "p", "queued"))
		if id != "tsk_queued" {
			must(begun + `'` + id + `'`)
		}
	}
	must(over + `'lost' WHERE id = 'tsk_lost'`)
	must(`INSERT INTO schedules VALUES ('c', 's', 'd', 5)`)
	must(`INSERT INTO kv VALUES ('p', 'a', 'gone', 7, 1, x'00')`)
	must(`DELETE FROM kv WHERE key = 'gone'`)
	must(`INSERT INTO kv VALUES ('p', 'a', 'k', 8, 1, x'00')`)

	for rule, query := range map[string]string{
		"owner changed":                 `UPDATE session_owners SET principal_id = 'q' WHERE session_id = 'ses_1'`,
		"owner deleted":                 `DELETE FROM session_owners WHERE session_id = 'ses_1'`,
		"owner replaced":                `INSERT OR REPLACE INTO session_owners VALUES ('ses_1', 'operator', 'q', '', '', '', '', 0)`,
		"owner of no session":           `INSERT INTO session_owners VALUES ('ses_3', 'operator', 'p', '', '', '', '', 0)`,
		"session deleted":               `DELETE FROM sessions WHERE id = 'ses_2'`,
		"fence goes back":               `UPDATE sessions SET fence = 4 WHERE id = 'ses_1'`,
		"session renamed":               `UPDATE sessions SET id = 'ses_9' WHERE id = 'ses_1'`,
		"binding to an unowned session": `INSERT INTO conversation_bindings VALUES ('chat', 'k', 'ses_3')`,
		"turn born ended":               turnRow("trn_2", "ses_2", "q2", "completed", "", "", "2"),
		"turn in no session":            turnRow("trn_2", "ses_3", "q2", "running", "", "", "NULL"),
		"running turn that finished":    turnRow("trn_2", "ses_2", "q2", "running", "", "", "2"),
		"running turn with a reply":     turnRow("trn_2", "ses_2", "q2", "running", "", "x", "NULL"),
		"request key twice":             turnRow("trn_2", "ses_2", "q1", "running", "", "", "NULL"),
		"two running turns":             turnRow("trn_2", "ses_1", "q2", "running", "", "", "NULL"),
		"ended turn goes on":            `UPDATE turns SET state = 'running', finished_at = NULL WHERE id = 'trn_over'`,
		"ended turn ends again":         `UPDATE turns SET state = 'failed' WHERE id = 'trn_over'`,
		"ended turn, another reply":     `UPDATE turns SET reply = 'x' WHERE id = 'trn_over'`,
		"ended without a time":          `UPDATE turns SET state = 'completed' WHERE id = 'trn_1'`,
		"ended over open effects":       `UPDATE turns SET state = 'completed', finished_at = 2 WHERE id = 'trn_1'`,
		"turn deleted":                  `DELETE FROM turns WHERE id = 'trn_over'`,
		"turn of another request":       `UPDATE turns SET request = 'x' WHERE id = 'trn_1'`,
		"lease of another session":      `INSERT INTO leases VALUES ('ses_2', 'trn_1', 'tok', 'epo', 6, 100)`,
		"second lease of a session":     `INSERT INTO leases VALUES ('ses_1', 'trn_1', 'tok2', 'epo', 7, 100)`,
		"lease of another claim":        `UPDATE leases SET token = 'x' WHERE session_id = 'ses_1'`,
		"lease gone from under a turn":  `DELETE FROM leases WHERE session_id = 'ses_1'`,
		"message after the end":         `INSERT INTO messages (id, session_id, turn_id, role, body, at) VALUES ('msg_2', 'ses_1', 'trn_over', 'user', '{}', 1)`,
		"message in another session":    `INSERT INTO messages (id, session_id, turn_id, role, body, at) VALUES ('msg_2', 'ses_2', 'trn_1', 'user', '{}', 1)`,
		"message changed":               `UPDATE messages SET body = '1' WHERE id = 'msg_1'`,
		"effect after the end":          effectRow("eff_2", "trn_over", "read", "", "1", "NULL"),
		"effect with two ends":          `UPDATE effects SET status = 'succeeded' WHERE id = 'eff_over'`,
		"effect that never was":         effectRow("eff_2", "trn_1", "", "", "NULL", "NULL"),
		"success without a start":       effectRow("eff_2", "trn_1", "", "succeeded", "NULL", "2"),
		"status without a time":         `UPDATE effects SET status = 'failed' WHERE id = 'eff_1'`,
		"other arguments":               `UPDATE effects SET arguments = '[]' WHERE id = 'eff_1'`,
		"effect deleted":                `DELETE FROM effects WHERE id = 'eff_1'`,
		"effect replaced":               strings.Replace(effectRow("eff_over", "trn_1", "read", "", "1", "NULL"), "INSERT", "INSERT OR REPLACE", 1),
		"settled twice":                 `INSERT INTO effect_resolutions VALUES ('eff_settled', 'happened', 'seen', 'p', 3, '')`,
		"settled otherwise":             `INSERT OR REPLACE INTO effect_resolutions VALUES ('eff_settled', 'not_happened', 'seen', 'p', 3, '')`,
		"resolution changed":            `UPDATE effect_resolutions SET verdict = 'not_happened' WHERE effect_id = 'eff_settled'`,
		"resolution deleted":            `DELETE FROM effect_resolutions WHERE effect_id = 'eff_settled'`,
		"ended effect settled":          `INSERT INTO effect_resolutions VALUES ('eff_over', 'nothing_to_do', 'r', '', 3, '')`,
		"running effect settled":        `INSERT INTO effect_resolutions VALUES ('eff_1', 'nothing_to_do', 'r', '', 3, '')`,
		"no effect settled":             `INSERT INTO effect_resolutions VALUES ('eff_9', 'happened', 'seen', 'p', 3, '')`,
		"settled by nobody":             `INSERT INTO effect_resolutions VALUES ('eff_lost_manual', 'happened', 'seen', '', 3, '')`,
		"settled without a reason":      `INSERT INTO effect_resolutions VALUES ('eff_lost_manual', 'happened', '', 'p', 3, '')`,
		"manual, settled by itself":     `INSERT INTO effect_resolutions VALUES ('eff_lost_manual', 'nothing_to_do', 'r', '', 3, '')`,
		"idempotent, as if it read":     `INSERT INTO effect_resolutions VALUES ('eff_lost_idempotent', 'nothing_to_do', 'r', '', 3, '')`,
		"another plugin's word":         `INSERT INTO effect_resolutions VALUES ('eff_lost_reconcile', 'happened', 'r', 'plugin:other@1', 3, '')`,
		"a plugin's word on manual":     `INSERT INTO effect_resolutions VALUES ('eff_lost_manual', 'happened', 'r', 'plugin:', 3, '')`,
		"a person's reference":          `INSERT INTO effect_resolutions VALUES ('eff_lost_manual', 'happened', 'r', 'p', 3, 'msg-1')`,
		"a read, said to have happened": `INSERT INTO effect_resolutions VALUES ('eff_lost_read', 'happened', 'seen', 'p', 3, '')`,
		"ended turn asked to end":       `INSERT INTO cancel_requests VALUES ('trn_over', 'p', 3)`,
		"task of a turn that is over":   taskRow("tsk_2", "i", "", "trn_over", "p", "queued"),
		"task for another owner":        taskRow("tsk_2", "i", "", "trn_1", "q", "queued"),
		"task born running":             taskRow("tsk_2", "i", "", "trn_1", "p", "running"),
		"instance twice":                taskRow("tsk_2", "i_tsk_lost", "", "trn_1", "p", "queued"),
		"scope of a queued task":        taskRow("tsk_2", "i", "s_tsk_queued", "trn_1", "p", "queued"),
		"scope of a running task":       taskRow("tsk_2", "i", "s_tsk_running", "trn_1", "p", "queued"),
		"lost task begun again":         begun + `'tsk_lost'`,
		"lost task queued again":        `UPDATE tasks SET state = 'queued', reason = '', ended_at = NULL WHERE id = 'tsk_lost'`,
		"lost task that succeeded":      `UPDATE tasks SET state = 'succeeded', reason = '' WHERE id = 'tsk_lost'`,
		"running task queued again":     `UPDATE tasks SET state = 'queued', token = '', epoch = '', started_at = NULL WHERE id = 'tsk_running'`,
		"running task claimed anew":     `UPDATE tasks SET token = 'u' WHERE id = 'tsk_running'`,
		"task begun without a fence":    `UPDATE tasks SET state = 'running', token = 't', epoch = 'e', expires_at = 9, started_at = 2 WHERE id = 'tsk_queued'`,
		"task of another owner":         `UPDATE tasks SET principal_id = 'q' WHERE id = 'tsk_running'`,
		"task that does something else": `UPDATE tasks SET spec = '[]' WHERE id = 'tsk_queued'`,
		"cancel taken back":             `UPDATE tasks SET unwanted = -1 WHERE id = 'tsk_running'`,
		"told by no turn":               `UPDATE tasks SET notice = 'told' WHERE id = 'tsk_lost'`,
		"task deleted":                  `DELETE FROM tasks WHERE id = 'tsk_lost'`,
		"cursor goes back":              `UPDATE schedules SET cursor_at = 4`,
		"request to end changed":        `UPDATE cancel_requests SET principal_id = 'q'`,
		"request to end taken back":     `DELETE FROM cancel_requests`,
		"value of the same version":     `UPDATE kv SET value = x'01' WHERE key = 'k'`,
		"value that begins again":       `INSERT INTO kv VALUES ('p', 'a', 'gone', 7, 1, x'00')`,
		"what was used, forgotten":      `DELETE FROM kv_usage`,
		"question after the end":        questionRow("apr_2", "trn_over", "pending", "", "", "NULL"),
		"question born answered":        questionRow("apr_2", "trn_1", "denied", "", "", "11"),
		"second answer":                 `UPDATE approvals SET state = 'allowed', reach = 'once', decided_by = 'p' WHERE id = 'apr_over'`,
		"answer after the deadline":     `UPDATE approvals SET state = 'allowed', reach = 'once', decided_by = 'p', decided_at = 20 WHERE id = 'apr_1'`,
		"allowed by nobody":             `UPDATE approvals SET state = 'allowed', reach = 'once', decided_at = 11 WHERE id = 'apr_1'`,
		"allowed wider than offered":    `UPDATE approvals SET state = 'allowed', reach = 'session', decided_by = 'p', decided_at = 11 WHERE id = 'apr_1'`,
		"answer without a time":         `UPDATE approvals SET state = 'denied' WHERE id = 'apr_1'`,
		"other deadline":                `UPDATE approvals SET expires_at = 99 WHERE id = 'apr_1'`,
		"answered question, used again": `UPDATE approvals SET used_at = 13 WHERE id = 'apr_used'`,
		"answered question, unused":     `UPDATE approvals SET used_at = NULL WHERE id = 'apr_once'`,
		"use of a denial":               `UPDATE approvals SET used_at = 12 WHERE id = 'apr_over'`,
		"use of a pending question":     `UPDATE approvals SET used_at = 12 WHERE id = 'apr_1'`,
		"once, revoked":                 `UPDATE approvals SET revoked_at = 13 WHERE id = 'apr_once'`,
		"other plan":                    `UPDATE approvals SET plan = '{}' WHERE id = 'apr_1'`,
		"other approvers":               `UPDATE approvals SET approvers = '["q"]' WHERE id = 'apr_1'`,
		"other rule key":                `UPDATE approvals SET rule_key = 'y' WHERE id = 'apr_1'`,
		"other principal":               `UPDATE approvals SET principal_id = 'q' WHERE id = 'apr_1'`,
		"other effect":                  `UPDATE approvals SET effect_id = 'f' WHERE id = 'apr_1'`,
		"effect of no question":         strings.Replace(effectRow("eff_2", "trn_1", "read", "", "1", "NULL"), "'{}', ''", "'{}', 'apr_9'", 1),
		"effect of a pending question":  strings.Replace(effectRow("e", "trn_1", "read", "", "1", "NULL"), "'{}', ''", "'{}', 'apr_1'", 1),
		"effect of a denied question":   strings.Replace(effectRow("e", "trn_1", "read", "", "1", "NULL"), "'{}', ''", "'{}', 'apr_over'", 1),
		"effect of another's once":      strings.Replace(effectRow("eff_2", "trn_1", "read", "", "1", "NULL"), "'{}', ''", "'{}', 'apr_once'", 1),
		"question deleted":              `DELETE FROM approvals WHERE id = 'apr_1'`,
		"delivery after the end":        deliveryRow("dlv_2", "ses_1", "trn_over", "chat:dm:a", "queued", "0"),
		"delivery elsewhere":            deliveryRow("dlv_2", "ses_chat", "trn_chat", "chat:dm:b", "queued", "0"),
		"delivery born sent":            deliveryRow("dlv_2", "ses_chat", "trn_chat", "chat:dm:a", "delivered", "1"),
		"delivery born tried":           deliveryRow("dlv_2", "ses_chat", "trn_chat", "chat:dm:a", "queued", "1"),
		"sent without a claim":          sent + `'dlv_queued'`,
		"delivered without an attempt":  settled + `'delivered' WHERE id = 'dlv_claimed'`,
		"unknown without an attempt":    settled + `'unknown' WHERE id = 'dlv_claimed'`,
		"delivered again":               settled + `'queued' WHERE id = 'dlv_over'`,
		"unknown, sent at once":         sent + `'dlv_unknown'`,
		"unknown, claimed at once":      taken + `'dlv_unknown'`,
		"unknown, delivered by word":    settled + `'delivered' WHERE id = 'dlv_unknown'`,
		"claimed twice":                 taken + `'dlv_claimed'`,
		"claimed without a fence":       strings.Replace(taken, "fence + 1", "fence", 1) + `'dlv_queued'`,
		"claimed by nobody":             strings.Replace(taken, "'t'", "''", 1) + `'dlv_queued'`,
		"sent and not counted":          `UPDATE deliveries SET state = 'sending' WHERE id = 'dlv_claimed'`,
		"sent under another claim":      `UPDATE deliveries SET state = 'sending', attempts = 1, token = 'u' WHERE id = 'dlv_claimed'`,
		"settled and still claimed":     `UPDATE deliveries SET state = 'delivered' WHERE id = 'dlv_sending'`,
		"failed without a reason":       `UPDATE deliveries SET state = 'failed', token = '', epoch = '' WHERE id = 'dlv_sending'`,
		"another body":                  `UPDATE deliveries SET state = 'dropped', reason = 'x', body = 'c' WHERE id = 'dlv_queued'`,
		"another conversation":          `UPDATE deliveries SET state = 'dropped', reason = 'x', conversation_key = 'k' WHERE id = 'dlv_queued'`,
		"delivery deleted":              `DELETE FROM deliveries WHERE id = 'dlv_over'`,
		"delivery replaced":             strings.Replace(deliveryRow("dlv_over", "ses_chat", "trn_chat", "chat:dm:a", "queued", "0"), "INSERT", "INSERT OR REPLACE", 1),
		"record changed":                `UPDATE events SET kind = 'x' WHERE id = 'evt_1'`,
		"record deleted":                `DELETE FROM events WHERE id = 'evt_1'`,
		"record replaced":               `INSERT OR REPLACE INTO events (id, at, kind, principal_id, session_id, turn_id, effect_id, trace, fields) VALUES ('evt_1', 1, 'x', '', '', '', '', '', '[]')`,
		"value of another size":         `UPDATE kv SET size = 9 WHERE plugin = 'p'`,
		"text for a number":             `UPDATE sessions SET turns = 'many' WHERE id = 'ses_1'`,
	} {
		err := s.write(t.Context(), func(t *tx) error { _, err := t.exec(query); return err })
		if code(err) != codeConstraint {
			t.Errorf("%s: %v", rule, err)
		}
	}
	var usage [2]int
	if err := s.reader.row(t.Context(), `SELECT keys, bytes FROM kv_usage WHERE plugin = 'p'`).Scan(&usage[0], &usage[1]); err != nil || usage != [2]int{1, 1} {
		t.Errorf("usage %v, %v", usage, err)
	}
	must(`UPDATE effects SET status = 'failed', finished_at = 2 WHERE id = 'eff_1'`)
	if err := s.write(t.Context(), func(t *tx) error {
		_, err := t.exec(`UPDATE turns SET state = 'completed', finished_at = 2 WHERE id = 'trn_1'`)
		return err
	}); code(err) != codeConstraint {
		t.Errorf("ended over an open question: %v", err)
	}
}

const codeConstraint = 19
