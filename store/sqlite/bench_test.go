package sqlite

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// benchmarkStore opens a store on the real clock.
func benchmarkStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), Config{
		Path: filepath.Join(b.TempDir(), "portcullis.db"), Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func benchmarkRecord(s *Store, k event.Kind, t id.Turn) event.Record {
	return event.Record{ID: s.ids.Event(), At: time.Now(), Kind: k, Turn: t, Fields: []event.Field{event.F("tool", "calc.eval")}}
}

// fourCommits is one scripted turn: admission, effect started, effect finished, terminal state.
func fourCommits(b *testing.B, s *Store, person string) {
	ctx, now := b.Context(), time.Now()
	a := turn.Admission{
		Request: s.ids.Request(), Digest: "d", Turn: s.ids.Turn(), NewSession: s.ids.Session(),
		Selector: turn.Selector{Kind: turn.Bound}, Core: "c", Revision: "r", Trace: s.ids.Trace(), Input: "hello", At: now,
		Owner: principal.Facts{
			PrincipalID: "principal:" + person, Authority: principal.Conversation, Channel: "chat", ConversationKey: "chat:dm:" + person,
		},
		Claim: lease.Claim{Token: s.ids.Lease(), Epoch: "epo_bench", Expires: now.Add(time.Minute)},
	}
	got, err := s.Admit(ctx, a, []event.Record{benchmarkRecord(s, event.SessionCreated, ""), benchmarkRecord(s, event.TurnStarted, a.Turn)})
	if err != nil || got.Disposition != turn.Admitted {
		b.Fatal(got.Disposition, err)
	}
	e := effect.Started{
		Effect: s.ids.Effect(), Turn: a.Turn, Session: got.Session, Tool: "calc.eval", Recovery: "read", Digest: "d",
		Arguments: []byte(`{"expression":"1+1"}`), At: now,
	}
	if _, err := s.EffectStarted(ctx, e, benchmarkRecord(s, event.EffectStarted, a.Turn)); err != nil {
		b.Fatal(err)
	}
	err = s.EffectFinished(ctx, effect.Finished{
		Effect: e.Effect, Turn: a.Turn, Session: got.Session, Tool: e.Tool, Status: effect.Succeeded, Started: true,
		Durable: []byte(`{"result":2}`), At: now,
	}, benchmarkRecord(s, event.EffectFinished, a.Turn))
	if err != nil {
		b.Fatal(err)
	}
	end := turn.Terminal{Turn: a.Turn, Session: got.Session, Claim: got.Claim, Outcome: turn.Completed, Reply: "2", At: now}
	if how, err := s.Finish(ctx, end, benchmarkRecord(s, event.TurnFinished, a.Turn)); err != nil || how != turn.Written {
		b.Fatal(how, err)
	}
}

// appendFour is what four durable commits cost at the least on this disk: append 4 KiB and flush, four times.
func appendFour(b *testing.B, f *os.File, page []byte) {
	for range 4 {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := flushData(f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurn measures a turn's four commits against the floor of the same disk in the same run. The two are
// interleaved, so that a disk that slows down slows both; "ratio" is turns over floor, 1 is the floor itself.
func BenchmarkTurn(b *testing.B) {
	s := benchmarkStore(b)
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	fourCommits(b, s, "warm")
	var turns, floor time.Duration
	for b.Loop() {
		t0 := time.Now()
		fourCommits(b, s, "p")
		t1 := time.Now()
		appendFour(b, f, page)
		turns, floor = turns+t1.Sub(t0), floor+time.Since(t1)
	}
	b.ReportMetric(float64(turns.Microseconds())/float64(b.N), "us/turn")
	b.ReportMetric(float64(floor.Microseconds())/float64(b.N), "us/floor")
	b.ReportMetric(float64(floor)/float64(turns), "ratio")
}

// BenchmarkTurnCommits is the same from many conversations at once. The floor is one flush after the other, measured before and
// after; "ratio" is turns a second over a quarter of the floor's flushes a second.
func BenchmarkTurnCommits(b *testing.B) {
	for _, sessions := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			s := benchmarkStore(b)
			f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			page := make([]byte, 4096)
			floor := func() (spent time.Duration) {
				t0 := time.Now()
				for range 100 {
					appendFour(b, f, page)
				}
				return time.Since(t0) / 100
			}
			before := floor()
			var left atomic.Int64
			left.Store(int64(b.N))
			took := make([][]time.Duration, sessions)
			b.ResetTimer()
			var all sync.WaitGroup
			for i := range sessions {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						t0 := time.Now()
						fourCommits(b, s, fmt.Sprint("p", i))
						took[i] = append(took[i], time.Since(t0))
					}
				})
			}
			all.Wait()
			each := b.Elapsed() / time.Duration(b.N)
			b.StopTimer()
			every := slices.Concat(took...)
			slices.Sort(every)
			b.ReportMetric(float64(before+floor())/2/float64(each), "ratio")
			b.ReportMetric(float64(every[len(every)*99/100].Microseconds()), "p99-us")
		})
	}
}

// BenchmarkRead measures the owned point read and the newest messages of a session.
func BenchmarkRead(b *testing.B) {
	s := benchmarkStore(b)
	for i := range 200 {
		fourCommits(b, s, fmt.Sprint("p", i%20))
	}
	by := operatorOf(b, s)
	recs, err := s.Sessions(b.Context(), by, 0, 1)
	if err != nil || len(recs) != 1 {
		b.Fatal(err)
	}
	turns, err := s.Turns(b.Context(), by, recs[0].ID, 0, 1)
	if err != nil || len(turns) != 1 {
		b.Fatal(err)
	}
	b.Run("turn", func(b *testing.B) {
		for b.Loop() {
			if _, found, err := s.Turn(b.Context(), by, turns[0].ID); err != nil || !found {
				b.Fatal(err)
			}
		}
	})
	b.Run("sessions", func(b *testing.B) {
		for b.Loop() {
			if got, err := s.Sessions(b.Context(), by, 0, 20); err != nil || len(got) != 20 {
				b.Fatal(len(got), err)
			}
		}
	})
}
