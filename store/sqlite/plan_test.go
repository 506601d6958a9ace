package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// statements are the texts that a store has prepared so far.
func (s *Store) statements() []string {
	var all []string
	for _, p := range []*prepared{s.reader, s.writer} {
		p.mu.Lock()
		all = slices.AppendSeq(all, maps.Keys(p.stmts))
		p.mu.Unlock()
	}
	return all
}

// plan is how SQLite would run a statement.
func plan(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	args := make([]any, strings.Count(query, "?"))
	rows, err := db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, args...)
	return collect(rows, err, func(r *sql.Rows) (detail string, err error) {
		var id, parent, unused int
		err = r.Scan(&id, &parent, &unused, &detail)
		return detail, err
	})
}

var (
	// The leases hold running turns only, and j is the JSON list of a question's approvers.
	// and few is a sub-query with a limit.
	bounded = regexp.MustCompile(`^SCAN (l|l USING .*|j VIRTUAL TABLE.*|few)$`)
	ordered = regexp.MustCompile(`^SCAN \w+ USING (COVERING )?INDEX `)
	limited = regexp.MustCompile(`LIMIT \?( OFFSET \?)?\s*$`)
)

// grows says which steps of a plan cost more the more rows there are.
func grows(query string, steps []string) []string {
	// Leases are as many as turns that run, and a turn has four children at most, each in a session that is the child's alone.
	few := slices.ContainsFunc(steps, func(s string) bool {
		return s == "CO-ROUTINE few" || s == "SCAN l" || strings.HasPrefix(s, "SCAN l ") || strings.HasPrefix(s, "SEARCH w USING INDEX session_owners_by_parent ")
	})
	sorts := slices.ContainsFunc(steps, func(s string) bool { return strings.HasPrefix(s, "USE TEMP B-TREE") }) && !few
	var bad []string
	for _, step := range steps {
		switch {
		case bounded.MatchString(step):
		case ordered.MatchString(step) && limited.MatchString(query) && !sorts: // walks an index and stops at the limit, behind a bounded skip
		case strings.HasPrefix(step, "SCAN CONSTANT ROW"):
		case slices.Contains(steps, "CO-ROUTINE few") && strings.HasPrefix(step, "SCAN effects USING COVERING INDEX "): // up to its limit
		case strings.HasPrefix(step, "SCAN"), strings.Contains(step, "AUTOMATIC"),
			strings.HasPrefix(step, "USE TEMP B-TREE") && !few:
			bad = append(bad, step)
		}
	}
	return bad
}

// checkPlans fails for each statement whose cost grows with a table.
func checkPlans(t *testing.T, statements map[string]bool) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	// What the triggers ask, which a plan does not show.
	for _, query := range []string{
		`SELECT 1 FROM effects e WHERE e.turn_id = ? AND e.finished_at IS NULL`,
		`SELECT 1 FROM approvals a WHERE a.turn_id = ? AND a.state = 'pending'`,
		`SELECT 1 FROM turns t WHERE t.id = ? AND t.session_id = ? AND t.state = 'running'`,
		`SELECT 1 FROM turns t JOIN session_owners o ON o.session_id = t.session_id WHERE t.id = ? AND t.session_id = ? AND o.channel = ?`,
		`UPDATE kv_usage SET keys = keys - 1 WHERE plugin = ? AND principal = ?`,
	} {
		statements[query] = true
	}
	checked := 0
	for query := range statements {
		if verb, _, _ := strings.Cut(query, " "); !slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE"}, verb) {
			continue
		}
		steps, err := plan(t.Context(), s.reads, query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		checked++
		if bad := grows(query, steps); len(bad) != 0 {
			t.Errorf("this statement reads more the more there is:\n%s\n%s", query, strings.Join(steps, "\n"))
		}
	}
	if checked < 60 {
		t.Errorf("only %d statements were seen: the contract no longer reaches them all", checked)
	}
}

func TestPlanCheckSeesScans(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	for query, bad := range map[string]bool{
		`SELECT id FROM events WHERE trace = ?`:                                                                  true,
		`SELECT id FROM events e WHERE e.trace = ? ORDER BY e.at DESC LIMIT ?`:                                   false, // an ordered walk; a filter is not a sort
		`SELECT id FROM events WHERE kind = ? ORDER BY principal_id LIMIT ?`:                                     true,
		`SELECT id FROM events ORDER BY at DESC`:                                                                 true,
		`SELECT count(*) FROM turns`:                                                                             true,
		`UPDATE turns SET reply = ? WHERE trace = ?`:                                                             true,
		`SELECT t.id FROM turns t WHERE t.id = ?`:                                                                false,
		`SELECT m.id FROM messages m WHERE m.session_id = ? ORDER BY m.seq DESC LIMIT ?`:                         false,
		`SELECT m.id FROM messages m WHERE m.turn_id = ? ORDER BY m.seq DESC LIMIT ?`:                            true,
		`SELECT m.id FROM messages m WHERE m.session_id = ? ORDER BY m.seq DESC LIMIT ? OFFSET ?`:                false,
		`SELECT m.id FROM messages m WHERE m.turn_id = ? ORDER BY m.seq DESC LIMIT ? OFFSET ?`:                   true,
		`SELECT l.turn_id, l.token, l.epoch FROM leases l CROSS JOIN turns t ON t.id = l.turn_id ORDER BY t.seq`: false,
		`SELECT l.turn_id FROM leases l JOIN turns t ON t.trace = l.turn_id`:                                     true,
	} {
		steps, err := plan(t.Context(), s.reads, query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if got := len(grows(query, steps)) != 0; got != bad {
			t.Errorf("%s: flagged %v\n%s", query, got, fmt.Sprint(strings.Join(steps, "\n")))
		}
	}
}

func TestKindsThatNotEveryTurnHasAreLookedUp(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	for kind, index := range map[event.Kind]string{
		event.LookupDenied: "events_by_kind", event.TurnRecovered: "events_by_kind", event.EffectDenied: "events_by_kind",
		event.TurnStarted: "events_recent", event.TurnFinished: "events_recent", event.EffectStarted: "events_recent", event.EffectFinished: "events_recent",
	} {
		query, _ := eventQuery(turn.EventQuery{Kind: kind}, "", reach{all: true}, false)
		steps, err := plan(t.Context(), s.reads, query)
		if err != nil || len(steps) != 1 || !strings.HasPrefix(steps[0], "SEARCH e USING INDEX "+index+" (") {
			t.Errorf("records of kind %s are looked for by %v, not by %s (%v)", kind, steps, index, err)
		}
	}
}

// Records of effects are found in no time where there are few effects among many other records.
func TestFewEffectsAreLookedUpByTheirTurns(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "portcullis.db"))
	for kind, few := range map[event.Kind]bool{event.EffectStarted: true, event.EffectFinished: true, event.TurnStarted: false, event.EffectDenied: false} {
		if got, err := s.fewEffects(t.Context(), reach{all: true}, turn.EventQuery{Kind: kind}); got != few || err != nil {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
	}
	query, _ := eventQuery(turn.EventQuery{Kind: event.EffectStarted}, "", reach{all: true}, true)
	steps, err := plan(t.Context(), s.reads, query)
	if err != nil || !slices.Contains(steps, "SEARCH e USING INDEX events_of_turn (turn_id=? AND at>?)") {
		t.Errorf("%q, %v", steps, err)
	}
	err = s.write(t.Context(), func(t *tx) error {
		for _, query := range []string{
			`INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at) VALUES ('ses_1', 'c', 'hello', 1, 1, 1, 1)`,
			`INSERT INTO session_owners (session_id, authority, principal_id, channel, conversation_key, parent_session) VALUES ('ses_1', 'operator', 'principal:operator:local', '', '', '')`,
			`INSERT INTO turns (id, session_id, authority, principal_id, request, digest, core, revision, capabilities, trace, input, state, reason, reply,
				steps, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, started_at)
				VALUES ('trn_1', 'ses_1', 'operator', 'principal:operator:local', 'r', 'd', 'c', 'r', 'f', 't', 'hello', 'running', '', '', 0, 0, 0, 0, 0, 1)`,
			numbers + ` INSERT INTO effects (id, session_id, turn_id, call_id, tool, plugin, recovery, digest, arguments, approval_id, status, reason, durable,
				duration_ms, started_at, finished_at) SELECT 'eff_' || n, 'ses_1', 'trn_1', '', 't', 'p', 'read', 'd', '', '', 'failed', '', '', 0, 1, 1 FROM k`,
		} {
			args := []any{}
			if strings.HasPrefix(query, numbers) {
				args = append(args, maxFew+1)
			}
			if _, err := t.exec(query, args...); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if few, err := s.fewEffects(t.Context(), reach{all: true}, turn.EventQuery{Kind: event.EffectStarted}); few || err != nil {
		t.Errorf("of %d effects: %v, %v", maxFew+1, few, err)
	}
}
