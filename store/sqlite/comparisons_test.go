package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// everyTurnWrites is whether each turn runs a statement. Those with a SELECT of their own are for what seldom happens.
func everyTurnWrites(query string) bool {
	for _, table := range []string{"sessions", "turns", "leases", "messages", "effects", "observations", "deliveries", "events"} {
		if strings.HasPrefix(query, "INSERT INTO "+table+" ") && !strings.Contains(query, "SELECT ?, t.session_id, t.id, ?, ?, ?, ''") {
			return true
		}
	}
	return strings.HasPrefix(query, "UPDATE turns SET state = ?") || strings.HasPrefix(query, "UPDATE effects SET status = ?") ||
		strings.HasPrefix(query, "UPDATE sessions SET turns") || strings.HasPrefix(query, "UPDATE audit_head ")
}

// makesTables says how many tables SQLite makes to run a statement, and throws away.
func makesTables(ctx context.Context, db *sql.DB, query string) (n int, err error) {
	rows, err := db.QueryContext(ctx, "EXPLAIN "+query, make([]any, strings.Count(query, "?"))...)
	steps, err := collect(rows, err, func(r *sql.Rows) (op string, err error) {
		var addr, p1, p2, p3, p4, p5, comment any
		err = r.Scan(&addr, &op, &p1, &p2, &p3, &p4, &p5, &comment)
		return op, err
	})
	for _, op := range steps {
		if op == "OpenEphemeral" || op == "OpenAutoindex" {
			n++
		}
	}
	return n, err
}

// checkLight fails for each statement of every turn for which SQLite makes a table.
func checkLight(t *testing.T, statements map[string]bool) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	checked := 0
	for query := range statements {
		if !everyTurnWrites(query) {
			continue
		}
		checked++
		if n, err := makesTables(t.Context(), s.reads, query); err != nil || n != 0 {
			t.Errorf("for this statement of every turn SQLite makes %d tables (%v):\n%s", n, err, query)
		}
	}
	if checked < 12 {
		t.Errorf("only %d statements of every turn were seen", checked)
	}
}

// checks are the conditions of a table's CHECKs, in order.
func checks(table string) (all []string) {
	for {
		_, rest, found := strings.Cut(table, "CHECK (")
		if !found {
			return all
		}
		depth := 1
		end := strings.IndexFunc(rest, func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			return depth == 0
		})
		all, table = append(all, rest[:end]), rest[end:]
	}
}

// The checks that migration 13 words anew refuse what they refused before, and nothing else.
func TestComparisonsSayWhatTheListsSaid(t *testing.T) {
	before, now := filepath.Join(t.TempDir(), "before.db"), filepath.Join(t.TempDir(), "now.db")
	for path, n := range map[string]int{before: 12, now: 13} {
		if err := own(path); err != nil {
			t.Fatal(err)
		}
		if err := migrate(t.Context(), path, set(since(t, n)...), nil); err != nil {
			t.Fatal(err)
		}
	}
	words := `('x'), (''), ('user'), ('assistant'), ('tool'), ('running'), ('completed'), ('needs_user'), ('failed'), ('cancelled'), ('lost'),
		('indeterminate'), ('read'), ('idempotent'), ('reconcile'), ('manual'), ('succeeded'), ('denied'), ('invalid'), ('not_found'),
		('timed_out'), ('queued'), ('claimed'), ('sending'), ('delivered'), ('unknown'), ('dropped')`
	for table, changed := range map[string]int{"messages": 1, "turns": 2, "effects": 2, "deliveries": 3} {
		text := `SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = '` + table + `'`
		olds, news := checks(ask(t, before, text)), checks(ask(t, now, text))
		if len(olds) != len(news) {
			t.Fatalf("%s had %d checks and has %d", table, len(olds), len(news))
		}
		var differ []int
		for i := range olds {
			if olds[i] != news[i] {
				differ = append(differ, i)
			}
		}
		if len(differ) != changed {
			t.Errorf("%s: %d checks are new, not %d", table, len(differ), changed)
		}
		for _, i := range differ {
			got := ask(t, now, fmt.Sprintf(`WITH w (v) AS (VALUES %s), c AS (SELECT w.v AS role, w.v AS state, w.v AS status, w.v AS recovery,
				r.column1 AS reply, r.column1 AS reason, n.column1 AS attempts FROM w, (VALUES (''), ('x')) r, (VALUES (0), (1)) n)
				SELECT count(*) FILTER (WHERE (%s) IS NOT (%s)) || ' ' || count(*) || ' ' || (count(*) FILTER (WHERE %s) > 0)
				|| ' ' || (count(*) FILTER (WHERE NOT (%s)) > 0) FROM c`, words, olds[i], news[i], news[i], news[i]))
			if got != "0 108 1 1" {
				t.Errorf("%s: %s is not %s: %s", table, news[i], olds[i], got)
			}
		}
	}
	if got := ask(t, now, `PRAGMA writable_schema`); got != "0" {
		t.Error("the schema can still be written", got)
	}
}

// A database in use is not to be harmed by a statement, whoever comes to run one.
func TestOnlyAMigrationWritesTheSchema(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	err := s.write(t.Context(), func(t *tx) error {
		if err := t.do(`PRAGMA writable_schema = ON`); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE sqlite_schema SET sql = sql WHERE name = 'messages'`)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "may not be modified") {
		t.Errorf("a write changed the schema: %v", err)
	}
}
