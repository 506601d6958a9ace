package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// audited is a closed database with n audit records.
func audited(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "portcullis.db")
	s, clock := open(t, path)
	for i := range n {
		r := record(s)
		r.At, r.Fields = clock.Now(), []event.Field{event.F("n", string(rune('a'+i%26)))}
		if err := s.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func verified(t *testing.T, path string, known ...AuditHead) AuditReport {
	t.Helper()
	before := files(t, filepath.Dir(path))
	r, err := VerifyAudit(t.Context(), path, known...)
	if err != nil {
		t.Fatal(err)
	}
	if !same(before, files(t, filepath.Dir(path))) {
		t.Error("verifying wrote something")
	}
	return r
}

func TestTheAuditIsAChain(t *testing.T) {
	path := audited(t, 9)
	r := verified(t, path)
	if len(r.Faults) != 0 || r.Records != 9 || r.Before != 0 || r.Head.Seq != 9 {
		t.Fatalf("report %+v", r)
	}
	s, _ := open(t, path)
	if err := s.Record(t.Context(), record(s)); err != nil {
		t.Fatal(err)
	}
	if in := verified(t, path, r.Head); len(in.Faults) != 0 || in.Records != 10 || in.Head.Seq != 10 { // while in use
		t.Errorf("report %+v", in)
	}
	if got, err := ParseAuditHead(r.Head.String()); err != nil || got != r.Head {
		t.Errorf("head %s read as %s, %v", r.Head, got, err)
	}
	for _, bad := range []string{"", "9", "9:ab", "0:" + strings.Repeat("0", 64), "9:" + strings.Repeat("A", 64), "09:" + strings.Repeat("0", 64)} {
		if got, err := ParseAuditHead(bad); err == nil {
			t.Errorf("%q is read as %s", bad, got)
		}
	}
}

func TestTamperingWithTheAuditIsFound(t *testing.T) {
	const free = `DROP TRIGGER events_fixed; DROP TRIGGER events_kept; `
	for name, c := range map[string]struct{ change, fault string }{
		"a field":        {`UPDATE events SET fields = '[["n","z"]]' WHERE seq = 4`, "record 4 "},
		"a time":         {`UPDATE events SET at = at + 1 WHERE seq = 4`, "record 4 "},
		"a kind":         {`UPDATE events SET kind = 'x' WHERE seq = 4`, "record 4 "},
		"a principal":    {`UPDATE events SET principal_id = 'x' WHERE seq = 4`, "record 4 "},
		"a session":      {`UPDATE events SET session_id = 'x' WHERE seq = 4`, "record 4 "},
		"a turn":         {`UPDATE events SET turn_id = 'x' WHERE seq = 4`, "record 4 "},
		"an effect":      {`UPDATE events SET effect_id = 'x' WHERE seq = 4`, "record 4 "},
		"a trace":        {`UPDATE events SET trace = 'x' WHERE seq = 4`, "record 4 "},
		"an id":          {`UPDATE events SET id = 'x' WHERE seq = 4`, "record 4 "},
		"a digest":       {`UPDATE events SET chain = x'00' WHERE seq = 4`, "record 4 "},
		"taken out":      {`DELETE FROM events WHERE seq BETWEEN 4 AND 5`, "records 4 to 5 are missing"},
		"the first":      {`DELETE FROM events WHERE seq = 1`, "records 1 to 1 are missing"},
		"the last":       {`DELETE FROM events WHERE seq = 9`, "records 9 to 9 are missing: they were the last"},
		"all":            {`DELETE FROM events`, "records 1 to 9 are missing"},
		"closed up":      {`DELETE FROM events WHERE seq = 4; UPDATE events SET seq = seq - 1 WHERE seq > 4`, "record 4 "},
		"moved":          {`UPDATE events SET seq = 99 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 99`, "record 4 "},
		"put in":         {`INSERT INTO events SELECT 10, 'new', at, kind, '', '', '', '', '', '[]', chain FROM events WHERE seq = 9`, "record 10 "},
		"declared older": {`UPDATE audit_head SET begun = 4`, "record 1 "},
		"a head moved":   {`UPDATE audit_head SET seq = 8; DELETE FROM events WHERE seq = 9`, "the chain does not end"},
	} {
		path := audited(t, 9)
		if err := run(path, free+c.change); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r := verified(t, path); len(r.Faults) == 0 || !strings.Contains(strings.Join(r.Faults, "\n"), c.fault) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A chain that was made anew from some record on is sound by itself. A head that was noted before tells.
func TestANotedHeadTellsOfANewChain(t *testing.T) {
	first, other := audited(t, 9), audited(t, 9)
	head := verified(t, first).Head
	if r := verified(t, other); len(r.Faults) != 0 || r.Head == head {
		t.Fatalf("report %+v", r)
	}
	if r := verified(t, other, head); len(r.Faults) != 1 || !strings.Contains(r.Faults[0], "record 9 does not have the head") {
		t.Errorf("report %+v", r)
	}
	if r := verified(t, audited(t, 5), head); len(r.Faults) != 1 || !strings.Contains(r.Faults[0], "record 9, whose head") {
		t.Errorf("report %+v", r)
	}
}

// firstTwo are the migrations before the one of the owners.
func firstTwo(t *testing.T) fs.FS {
	t.Helper()
	some := fstest.MapFS{}
	names, err := fs.Glob(released(), "0000[12]_*.sql")
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(released(), name)
		if err != nil {
			t.Fatal(err)
		}
		some[name] = &fstest.MapFile{Data: data}
	}
	return some
}

func TestUpgradeMarksUncertainOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	if err := own(path); err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), path, firstTwo(t), nil); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	rows.WriteString(`PRAGMA foreign_keys = OFF; PRAGMA journal_mode = WAL; INSERT INTO meta VALUES ('store_id', 'sto_01kjvktch0bkqvahc1crh8pzan');`)
	for _, s := range []string{"sound", "lost", "taken", "rebound", "operated"} {
		rows.WriteString(`INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at) VALUES ('ses_` + s + `', 'c', 't', 1, 1, 1, 1);`)
		if s != "lost" {
			rows.WriteString(`INSERT INTO session_owners VALUES ('ses_` + s + `', 'conversation', 'principal:conversation:chat:` + s + `', 'chat', 'chat:dm:` + s + `', '');`)
		}
		authority, who := "conversation", s
		switch s {
		case "taken":
			who = "mallory"
		case "operated":
			authority = "operator"
		}
		rows.WriteString(`INSERT INTO turns (id, session_id, authority, principal_id, request, digest, core, revision, capabilities, trace, input,
			state, reason, reply, steps, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, started_at, finished_at)
			VALUES ('trn_` + s + `', 'ses_` + s + `', '` + authority + `', 'principal:conversation:chat:` + who + `', 'r', 'd', 'c', 'r', 'f', 't', 'i', 'running', '', '', 0, 0, 0, 0, 0, 1, NULL);
			UPDATE turns SET state = 'completed', finished_at = 2 WHERE id = 'trn_` + s + `';`)
	}
	rows.WriteString(`INSERT INTO conversation_bindings VALUES ('chat', 'chat:dm:sound', 'ses_sound'), ('chat', 'chat:dm:else', 'ses_rebound');`)
	rows.WriteString(`INSERT INTO events (id, at, kind, principal_id, session_id, turn_id, effect_id, trace, fields) VALUES ('evt_old', 1, 'k', '', '', '', '', '', '[]');`)
	if err := run(path, rows.String()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, fileMode); err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, path)
	by := operatorOf(t, s)
	for name, want := range map[string]string{
		"sound": "", "operated": "", "lost": "legacy_owner_requires_repair", "taken": "legacy_owner_requires_repair", "rebound": "legacy_owner_requires_repair",
	} {
		session := turn.LegacyQuery{Session: "ses_", Reason: "after the upgrade"}
		session.Session += id.Session(name)
		_, owned, err := s.Session(t.Context(), by, session.Session)
		if err != nil || owned != (want == "") {
			t.Errorf("%s: shown %v, %v", name, owned, err)
		}
		got, legacy, err := s.Legacy(t.Context(), by, session)
		if err != nil || legacy != (want != "") || got.Why != want {
			t.Errorf("%s: %+v, %v, %v", name, got, legacy, err)
		}
	}
	if got, found, err := s.BoundSession(t.Context(), principal.Facts{
		PrincipalID: "principal:conversation:chat:rebound", Authority: principal.Conversation, Channel: "chat", ConversationKey: "chat:dm:else",
	}); found || err != nil {
		t.Errorf("bound to %s, %v", got, err)
	}
	if r := verified(t, path); len(r.Faults) != 0 || r.Before != 1 || r.Records == 0 {
		t.Errorf("audit %+v", r)
	}
}

func TestAWriteThatIsUndoneLeavesNoGapInTheAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	s, _ := open(t, path)
	audit := func(x *tx) error { return s.audit(x, record(s)) }
	undone := errors.New("undone")
	errs, _ := together(t, s, audit, func(x *tx) error { return errors.Join(audit(x), undone) }, audit)
	if errs[0] != nil || !errors.Is(errs[1], undone) || errs[2] != nil {
		t.Fatal(errs)
	}
	if err := s.write(t.Context(), func(x *tx) error { return errors.Join(audit(x), undone) }); !errors.Is(err, undone) {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), record(s)); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, path); len(r.Faults) != 0 || r.Records != 3 || r.Head.Seq != 3 {
		t.Errorf("report %+v", r)
	}
}
