package host_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/lease"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// served is a home whose host has talked to many people.
type served struct {
	dir   string
	ids   *id.Source
	store *sqlite.Store
}

func (s *served) open(b *testing.B) {
	b.Helper()
	var err error
	s.store, err = sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(s.dir, "portcullis.db"), Clock: time.Now, IDs: s.ids})
	if err != nil {
		b.Fatal(err)
	}
}

func (s *served) close(b *testing.B) {
	b.Helper()
	if err := s.store.Close(); err != nil {
		b.Fatal(err)
	}
}

// begin admits a turn of a person with its input.
func (s *served) begin(b *testing.B, person int) turn.Terminal {
	now, t := time.Now(), s.ids.Turn()
	record := func(k event.Kind) event.Record { return event.Record{ID: s.ids.Event(), At: now, Kind: k, Turn: t} }
	got, err := s.store.Admit(b.Context(), turn.Admission{
		Request: s.ids.Request(), Digest: "d", Turn: t, NewSession: s.ids.Session(), Selector: turn.Selector{Kind: turn.Bound},
		Core: "assistant", Revision: "r", Trace: s.ids.Trace(), Input: "what is the weather in the mountains?", At: now,
		Owner: principal.Facts{
			PrincipalID: fmt.Sprint("principal:conversation:chat:", person), Authority: principal.Conversation, Channel: "chat",
			ConversationKey: fmt.Sprint("chat:dm:", person),
		},
		Claim:    lease.Claim{Token: s.ids.Lease(), Epoch: "epo_gone", Expires: now.Add(time.Hour)},
		Messages: []turn.Message{s.message(t, "user", "what is the weather in the mountains?")},
	}, []event.Record{record(event.SessionCreated), record(event.TurnStarted)})
	if err != nil || got.Disposition != turn.Admitted {
		b.Error(got.Disposition, err)
	}
	return turn.Terminal{
		Turn: t, Session: got.Session, Claim: got.Claim, Outcome: turn.Completed, Reply: "cold, with snow", At: now,
		Messages: []turn.Message{s.message(t, "assistant", "cold, with snow")},
	}
}

func (s *served) message(t id.Turn, role, text string) turn.Message {
	body := fmt.Sprintf(`{"role":%q,"parts":[{"kind":"text","text":%q}]}`, role, text)
	return turn.Message{ID: s.ids.Message(), Turn: t, Role: role, Body: []byte(body), At: time.Now()}
}

// talk has every one of people sessions end two turns.
func (s *served) talk(b *testing.B, people int) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range 64 {
		all.Go(func() {
			for n := next.Add(1); n <= int64(2*people); n = next.Add(1) {
				end := s.begin(b, int(n)%people)
				r := event.Record{ID: s.ids.Event(), At: end.At, Kind: event.TurnFinished, Turn: end.Turn}
				if how, err := s.store.Finish(b.Context(), end, r); err != nil || how != turn.Written {
					b.Error(how, err)
				}
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// BenchmarkStart is what a host takes from the start to its first turn in a home with 10,000 sessions of two turns each, 16
// of which an earlier host left running: the database opened and checked for migrations, the home read, those turns
// ended. What it closes is not counted.
func BenchmarkStart(b *testing.B) {
	const sessions, left = 10_000, 16
	s := &served{dir: b.TempDir(), ids: id.NewSource(time.Now, rand.Reader)}
	if err := os.WriteFile(filepath.Join(s.dir, core.HostFile), core.DefaultHostConfig().Bytes, 0o600); err != nil {
		b.Fatal(err)
	}
	s.open(b)
	s.talk(b, sessions)
	var slowest time.Duration
	for b.Loop() {
		b.StopTimer()
		for n := range left {
			s.begin(b, n)
		}
		s.close(b)
		began := time.Now()
		b.StartTimer()
		s.open(b)
		h, err := host.Open(b.Context(), host.Config{Home: s.dir, Store: s.store})
		b.StopTimer()
		slowest = max(slowest, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms-ready")
	b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
	b.StopTimer()
	s.close(b)
}
