package sqlite

import (
	"fmt"
	"testing"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// peopled makes n sessions of as many conversations, each with a turn; the first has n turns besides.
func peopled(b *testing.B, s *Store, n int) {
	b.Helper()
	const turns = `INSERT INTO turns (id, session_id, authority, principal_id, request, digest, core, revision, capabilities, trace, input,
		state, reason, reply, steps, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, started_at) `
	const rest = `'d', 'c', 'r', 'f', 't', 'hello', 'running', '', '', 0, 0, 0, 0, 0, n * 1000 FROM k`
	err := s.write(b.Context(), func(t *tx) error {
		for _, query := range []string{
			`INSERT INTO sessions (id, core, title, turns, fence, created_at, last_turn_at) ` + numbers + ` SELECT 'ses_' || n, 'c', 'hello', 1, 1, n * 1000, n * 1000 FROM k`,
			`INSERT INTO session_owners (session_id, authority, principal_id, channel, conversation_key, parent_session)
				` + numbers + ` SELECT 'ses_' || n, 'conversation', 'principal:conversation:chat:' || n, 'chat', 'chat:dm:' || n, '' FROM k`,
			turns + numbers + ` SELECT 'trn_' || n, 'ses_' || n, 'conversation', 'principal:conversation:chat:' || n, 'r', ` + rest,
			`UPDATE turns SET state = 'completed', finished_at = started_at`,
			`DROP INDEX turns_running`, // the turns below run at once until the next statement
			turns + numbers + ` SELECT 'trn_1_' || n, 'ses_1', 'conversation', 'principal:conversation:chat:1', 'r' || n, ` + rest,
			`UPDATE turns SET state = 'completed', finished_at = started_at WHERE state = 'running'`,
			`CREATE UNIQUE INDEX turns_running ON turns (session_id) WHERE state = 'running'`,
		} {
			args := []any{}
			if len(query) > 40 && query[:6] == "INSERT" {
				args = append(args, n)
			}
			if _, err := t.exec(query, args...); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// numbers are 1 to the statement's parameter, as k.
const numbers = `WITH RECURSIVE k (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < ?)`

// BenchmarkOwned measures the owned reads at 100, 10 000 and 100 000 sessions, by an operator and by one conversation: what
// a read costs must not depend on how many rows there are that it does not return.
func BenchmarkOwned(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		s := benchmarkStore(b)
		peopled(b, s, n)
		op := operatorOf(b, s)
		facts := principal.Facts{
			PrincipalID: "principal:conversation:chat:1", Authority: principal.Conversation, Channel: "chat", ConversationKey: "chat:dm:1",
			SessionID: "ses_1", AllowedSessions: []string{"ses_1"},
		}
		own, err := principal.NewIssuer(string(s.StoreID())).Issue(facts)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range []struct {
			name string
			want int
			read func() (int, error)
		}{
			{"sessions/operator", 50, func() (int, error) { got, err := s.Sessions(b.Context(), op, 0, 50); return len(got), err }},
			{"sessions/own", 1, func() (int, error) { got, err := s.Sessions(b.Context(), own, 0, 20); return len(got), err }},
			{"turns/operator", 20, func() (int, error) { got, err := s.Turns(b.Context(), op, "ses_1", 0, 20); return len(got), err }},
			{"turns/every", 20, func() (int, error) { got, err := s.Turns(b.Context(), op, "", 0, 20); return len(got), err }},
			{"turns/own", 20, func() (int, error) { got, err := s.Turns(b.Context(), own, "ses_1", 0, 20); return len(got), err }},
			{"turn/own", 1, func() (int, error) { _, found, err := s.Turn(b.Context(), own, "trn_1_50"); return count1(found), err }},
			{"session/operator", 1, func() (int, error) {
				_, found, err := s.Session(b.Context(), op, id.Session(fmt.Sprint("ses_", n/2)))
				return count1(found), err
			}},
			{"search/operator", 20, func() (int, error) {
				got, err := s.Search(b.Context(), op, turn.SearchQuery{Text: "HELLO", Limit: 20})
				return len(got.Turns), err
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				for b.Loop() {
					if got, err := c.read(); err != nil || got != c.want {
						b.Fatal(got, err)
					}
				}
			})
		}
	}
}

func count1(found bool) int {
	if found {
		return 1
	}
	return 0
}
