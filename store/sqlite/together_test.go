package sqlite

import (
	"crypto/rand"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	decide "github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Two processes that answer one question at once give it one answer, and two that start its call at once start it once.
func TestTwoProcessesUseAnApprovalOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portcullis.db")
	var stores []*Store
	for range 2 {
		s, err := Open(t.Context(), Config{Path: path, Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		stores = append(stores, s)
	}
	s, now := stores[0], time.Now()
	record := func(s *Store, k event.Kind) event.Record {
		return event.Record{ID: s.ids.Event(), At: time.Now(), Kind: k}
	}
	owner := principal.Facts{PrincipalID: "principal:operator:local", Authority: principal.Operator, Reason: "test"}
	a := turn.Admission{
		Request: s.ids.Request(), Digest: "d", Turn: s.ids.Turn(), NewSession: s.ids.Session(), Selector: turn.Selector{Kind: turn.Fresh},
		Core: "c", Revision: "r", Trace: s.ids.Trace(), Input: "hello", At: now, Owner: owner,
		Claim: lease.Claim{Token: s.ids.Lease(), Epoch: s.ids.Epoch(), Expires: now.Add(time.Hour)},
	}
	got, err := s.Admit(t.Context(), a, []event.Record{record(s, event.SessionCreated), record(s, event.TurnStarted)})
	if err != nil {
		t.Fatal(err)
	}
	operator := principal.NewIssuer(string(s.StoreID()))
	by, err := operator.Issue(owner)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 20 {
		q := approval.Question{
			ID: s.ids.Approval(), Session: got.Session, Turn: a.Turn, Effect: s.ids.Effect(), Principal: owner.PrincipalID, Core: "c", Tool: "t.asked",
			Risk: decide.Low, Why: "rule", Arguments: `{}`, Digest: "d", RuleKey: "t", Asked: now, Expires: now.Add(time.Hour), State: approval.Pending,
		}
		if err := s.Ask(t.Context(), q, record(s, event.ApprovalAsked)); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		recorded, allowed := 0, false
		for i := range 8 {
			wg.Go(func() {
				ans := approval.Answer{State: approval.Allowed, Reach: approval.Once, By: owner.PrincipalID, Reason: "x"}
				if i%4 == 3 && round%2 == 1 {
					ans.State, ans.Reach = approval.Denied, ""
				}
				_, how, err := stores[i%2].Decide(t.Context(), by, q.ID, ans, time.Now(), record(stores[i%2], event.ApprovalDecided))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil || how != approval.Recorded && how != approval.AlreadyDecided:
					t.Error(how, err)
				case how == approval.Recorded:
					recorded, allowed = recorded+1, ans.State == approval.Allowed
				}
			})
		}
		wg.Wait()
		starts := map[effect.Start]int{}
		for i := range 8 {
			wg.Go(func() {
				how, err := stores[i%2].EffectStarted(t.Context(), effect.Started{
					Effect: q.Effect, Turn: a.Turn, Session: got.Session, Tool: q.Tool, Recovery: "read", Digest: "d", Arguments: []byte(`{}`), Approval: q.ID, At: time.Now(),
				}, record(stores[i%2], event.EffectStarted))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				starts[how]++
			})
		}
		wg.Wait()
		want := map[bool]int{true: 1}[allowed]
		if recorded != 1 || starts[effect.Begun] != want || starts[effect.ApprovalUsed]+starts[effect.ApprovalMissing] != 8-want {
			t.Fatalf("round %d: %d answers, allowed %v, starts %v", round, recorded, allowed, starts)
		}
	}
}

// BenchmarkAudit measures what the chain adds to a record, apart from the commit: the same rows in one transaction, with the
// digest over all before them and without.
func BenchmarkAudit(b *testing.B) {
	const rows = 1000
	for name, chained := range map[string]bool{"chained": true, "alone": false} {
		b.Run(name, func(b *testing.B) {
			s := benchmarkStore(b)
			for b.Loop() {
				err := s.write(b.Context(), func(t *tx) error {
					for range rows {
						r := benchmarkRecord(s, event.EffectStarted, "trn_x")
						if chained {
							if err := s.audit(t, r); err != nil {
								return err
							}
							continue
						}
						err := t.must(`INSERT INTO events (seq, id, at, kind, principal_id, session_id, turn_id, effect_id, trace, fields, chain)
							SELECT coalesce(max(seq), 0) + 1, ?, ?, ?, '', '', ?, '', '', '[]', zeroblob(32) FROM events`,
							string(r.ID), r.At.UnixMilli(), string(r.Kind), string(r.Turn))
						if err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/record")
		})
	}
}

// BenchmarkVerifyAudit measures how long a look at the whole chain takes for each record of it.
func BenchmarkVerifyAudit(b *testing.B) {
	const rows = 10_000
	s := benchmarkStore(b)
	err := s.write(b.Context(), func(t *tx) error {
		for range rows {
			if err := s.audit(t, benchmarkRecord(s, event.EffectStarted, "trn_x")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := VerifyAudit(b.Context(), s.path)
		if err != nil || r.Records < rows {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/record")
}
