package sqlite

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/outbox"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// since returns the released migrations up to and with number n, as an older program had them.
func since(t *testing.T, n int) []string {
	t.Helper()
	entries, err := embedded.ReadDir("migrations")
	if err != nil || len(entries) < n {
		t.Fatal(len(entries), err)
	}
	var texts []string
	for _, e := range entries[:n] {
		text, err := embedded.ReadFile("migrations/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// TestReleasedMigrationsStayAsTheyWere makes each schema anew and holds it to what the program of its time made, which the
// crash suite keeps: a migration that was edited afterwards would leave two databases of one version.
func TestReleasedMigrationsStayAsTheyWere(t *testing.T) {
	const all = `SELECT type || name || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name`
	saved := filepath.Join("..", "..", "conformance", "crash", "testdata", "saved")
	kept, err := os.ReadDir(saved)
	if err != nil || len(kept) < 8 {
		t.Fatal(len(kept), err)
	}
	for n := 1; n <= len(kept); n++ {
		old, now := filepath.Join(t.TempDir(), "old.db"), filepath.Join(t.TempDir(), "now.db")
		for _, end := range []string{"", "-wal"} {
			unpack(t, filepath.Join(saved, fmt.Sprint("v", n), "portcullis.db"+end+".gz"), old+end)
		}
		if err := own(now); err != nil {
			t.Fatal(err)
		}
		if err := migrate(t.Context(), now, set(since(t, n)...), nil); err != nil {
			t.Fatal(err)
		}
		if got, want := ask(t, now, all), ask(t, old, all); got != want {
			t.Errorf("schema %d is not what it was: never edit a migration that was released\n got %s\nwant %s", n, got, want)
		}
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(io.LimitReader(z, 16<<20))
	if err == nil {
		err = os.WriteFile(to, text, fileMode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A database that the first release left, with a question of each kind, opens with its answers as they were; none of
// them was used or revoked, and the turn that is still open in it is ended by the next host as it always was.
func TestQuestionsOfTheFirstSchemaAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	if err := own(path); err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), path, set(since(t, 1)...), nil); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at) VALUES ('ses_1', 'c', '', 1, 1, 1, 1)`,
		`INSERT INTO session_owners VALUES ('ses_1', 'operator', 'principal:operator:local', '', '', '')`,
		`INSERT INTO turns (id, session_id, authority, principal_id, request, digest, core, revision, capabilities, trace, input,
			state, reason, reply, steps, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, started_at)
			VALUES ('trn_1', 'ses_1', 'operator', 'p', 'q', 'd', 'c', 'r', 'f', 't', 'i', 'running', '', '', 0, 0, 0, 0, 0, 1)`,
		`INSERT INTO leases VALUES ('ses_1', 'trn_1', 'tok', 'epo_gone', 1, 100)`,
		questionOfOne("apr_pending"), questionOfOne("apr_allowed"), questionOfOne("apr_denied"),
		`UPDATE approvals SET state = 'allowed', reach = 'session', decided_by = 'p', decided_at = 11 WHERE id = 'apr_allowed'`,
		`UPDATE approvals SET state = 'denied', decided_by = 'p', reason = 'no', decided_at = 11 WHERE id = 'apr_denied'`,
	} {
		ask(t, path, statement)
	}
	s, clock := open(t, path)
	if ended, err := s.Recover(t.Context(), "epo_next", clock.Now()); err != nil || len(ended) != 1 {
		t.Fatal(ended, err)
	}
	resolver := authority.NewResolver(s, s, clock.Now, s.ids)
	by, err := resolver.Operator(t.Context(), "look at old questions")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[id.Approval]approval.State{"apr_pending": approval.Expired, "apr_allowed": approval.Allowed, "apr_denied": approval.Denied} {
		q, found, err := s.Question(t.Context(), by, name)
		if err != nil || !found || q.State != want || q.Plan != "" || q.Approvers != nil || !q.Used.IsZero() || !q.Revoked.IsZero() || q.Arguments != "{}" {
			t.Errorf("%s: %+v, %v, %v", name, q, found, err)
		}
	}
	report, err := Check(t.Context(), path)
	if err != nil || !report.Sound() {
		t.Errorf("%+v %v", report, err)
	}
}

// A database from before there was an outbox opens with nothing to deliver, whatever its turns replied, and its next
// turns owe what they should.
func TestRepliesFromBeforeTheOutboxAreNotDelivered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	if err := own(path); err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), path, set(since(t, 5)...), nil); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at) VALUES ('ses_1', 'c', '', 1, 1, 1, 1)`,
		`INSERT INTO session_owners VALUES ('ses_1', 'conversation', 'p', 'chat', 'chat:dm:a', '', '', 0)`,
		`INSERT INTO turns (id, session_id, authority, principal_id, request, digest, core, revision, capabilities, trace, input,
			state, reason, reply, steps, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, started_at)
			VALUES ('trn_1', 'ses_1', 'conversation', 'p', 'q', 'd', 'c', 'r', 'f', 't', 'i', 'running', '', '', 0, 0, 0, 0, 0, 1)`,
		`UPDATE turns SET state = 'completed', reply = 'said', finished_at = 2 WHERE id = 'trn_1'`,
		`INSERT INTO turns (id, session_id, authority, principal_id, request, digest, core, revision, capabilities, trace, input,
			state, reason, reply, steps, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, started_at)
			VALUES ('trn_2', 'ses_1', 'conversation', 'p', 'r', 'd', 'c', 'r', 'f', 't', 'i', 'running', '', '', 0, 0, 0, 0, 0, 3)`,
		`INSERT INTO leases VALUES ('ses_1', 'trn_2', 'tok', 'epo_1', 1, 99999999999999)`,
	} {
		ask(t, path, statement)
	}
	s, clock := open(t, path)
	by, err := authority.NewResolver(s, s, clock.Now, s.ids).Operator(t.Context(), "look at the outbox")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.Deliveries(t.Context(), by, "", 0, 10); err != nil || len(all) != 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	end := turn.Terminal{
		Turn: "trn_2", Session: "ses_1", Outcome: turn.Completed, Reply: "more", At: clock.Now(),
		Claim:      lease.Claim{Token: "tok", Epoch: "epo_1", Fence: 1},
		Deliveries: []turn.Delivery{{ID: "dlv_1", Channel: "chat", Conversation: "chat:dm:a", Body: "more"}},
	}
	r := event.Record{ID: s.ids.Event(), At: clock.Now(), Kind: event.TurnFinished}
	if how, err := s.Finish(t.Context(), end, r); how != turn.Written || err != nil {
		t.Fatal(how, err)
	}
	if all, err := s.Deliveries(t.Context(), by, outbox.Queued, 0, 10); err != nil || len(all) != 1 || all[0].Turn != "trn_2" {
		t.Errorf("%+v, %v", all, err)
	}
	if report, err := Check(t.Context(), path); err != nil || !report.Sound() {
		t.Errorf("%+v %v", report, err)
	}
}

func questionOfOne(name string) string {
	return `INSERT INTO approvals (id, session_id, turn_id, effect_id, principal_id, core, tool, plugin, risk, needs, why, arguments,
		digest, rule_key, cacheable, asked_at, expires_at, state, reach, decided_by, reason) VALUES ('` + name + `', 'ses_1', 'trn_1',
		'e', 'p', 'c', 'x', '', 'low', '[]', '', '{}', 'd', '', 1, 10, 20, 'pending', '', '', '')`
}

// Effects that the schema before left without an end are there, with what their recovery settles settled, and values go on from
// their versions.
func TestWhatTheFourthSchemaLeftIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	if err := own(path); err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), path, set(since(t, 4)...), nil); err != nil {
		t.Fatal(err)
	}
	ask(t, path, `INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at) VALUES ('ses_1', 'c', '', 1, 1, 1, 1)`)
	ask(t, path, `INSERT INTO session_owners VALUES ('ses_1', 'operator', 'principal:operator:local', '', '', '', '', 0)`)
	ask(t, path, `INSERT INTO turns (id, session_id, authority, principal_id, request, digest, core, revision, capabilities, trace, input,
		state, reason, reply, steps, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, started_at)
		VALUES ('trn_1', 'ses_1', 'operator', 'p', 'q', 'd', 'c', 'r', 'f', 't', 'i', 'running', '', '', 0, 0, 0, 0, 0, 1)`)
	for name, recovery := range map[string]string{"eff_read": "read", "eff_again": "idempotent", "eff_asks": "reconcile", "eff_person": "manual"} {
		ask(t, path, `INSERT INTO effects (id, session_id, turn_id, call_id, tool, plugin, recovery, digest, arguments, approval_id, status,
			reason, durable, duration_ms, started_at) VALUES ('`+name+`', 'ses_1', 'trn_1', '', 'x', '', '`+recovery+`', 'd', '{}', '', '', '', '', 0, 1)`)
	}
	ask(t, path, `UPDATE effects SET status = 'indeterminate', reason = 'host_restarted', finished_at = 7`)
	ask(t, path, `UPDATE turns SET state = 'indeterminate', reason = 'host_restarted', finished_at = 7`)
	ask(t, path, `INSERT INTO kv VALUES ('p', 'a', 'k', 3, 1, x'00'), ('p', 'a', 'old', 9, 1, x'00')`)
	s, clock := open(t, path)
	scope := sandbox.KVScope{Plugin: "p", Principal: "a", Turn: runningTurn(t, s)}
	for i, want := range []int64{4, 10, 5} { // a value goes on, one that was deleted too, and no other is moved by that
		key := []string{"k", "old", "k"}[i]
		if key == "old" {
			if ok, err := s.Delete(t.Context(), scope, key, nil); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		if version, ok, err := s.Set(t.Context(), scope, key, []byte("v"), nil); version != want || !ok || err != nil {
			t.Errorf("%s has version %d, want %d, %v, %v", key, version, want, ok, err)
		}
	}
	by, err := authority.NewResolver(s, s, clock.Now, s.ids).Operator(t.Context(), "look at old effects")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[id.Effect]effect.Resolution{
		"eff_read":   {Verdict: effect.NothingToDo, Reason: "recovery_read", At: time.UnixMilli(7).UTC()},
		"eff_again":  {Verdict: effect.MayBeRepeated, Reason: "recovery_idempotent", At: time.UnixMilli(7).UTC()},
		"eff_asks":   {},
		"eff_person": {},
	} {
		got, found, err := s.Effect(t.Context(), by, name)
		if err != nil || !found || got.Status != effect.Indeterminate || got.Resolution != want {
			t.Errorf("%s: %+v, %v, %v", name, got, found, err)
		}
	}
	if report, err := Check(t.Context(), path); err != nil || !report.Sound() {
		t.Errorf("%+v %v", report, err)
	}
}
