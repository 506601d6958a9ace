package approval_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/id"
	rules "github.com/b3abf3ee/portcullis/policy/approval"
	"pgregory.net/rapid"
)

// sequences is how many random sequences the cache is held to the model for.
const sequences = 10_000

// model says what a gate remembers: which key, from which question, until when.
type model struct {
	t     *rapid.T
	w     *world
	now   *time.Time
	turns []binding.Turn
	gate  *approval.Gate
	next  approval.Answer // what the person will say
	fails bool
	asked int

	kept  map[rules.Key]entry
	froms []id.Approval
}

type entry struct {
	from  id.Approval
	until time.Time
}

func (m *model) Prompt(_ context.Context, q approval.Question) (approval.Answer, error) {
	m.asked++
	ans := m.next
	ans.By = q.Principal
	if m.fails {
		return ans, errors.New("the terminal went away")
	}
	return ans, nil
}

func (m *model) restart(*rapid.T) {
	m.gate = m.w.gate(func(c *approval.Config) { c.Prompter = m })
	m.kept = map[rules.Key]entry{}
}

func (m *model) request(rt *rapid.T) approval.Request {
	b := rapid.SampledFrom(m.turns).Draw(rt, "turn")
	req := m.w.request(b, rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "rule"))
	req.Key.Fingerprint = rapid.SampledFrom([]rules.Fingerprint{"f1", "f2"}).Draw(rt, "fingerprint")
	req.Cacheable = rapid.IntRange(0, 3).Draw(rt, "not cacheable") != 0
	return req
}

func (m *model) decide(rt *rapid.T) {
	req := m.request(rt)
	m.next = approval.Answer{
		State: rapid.SampledFrom([]approval.State{approval.Allowed, approval.Allowed, approval.Allowed, approval.Denied, "perhaps"}).Draw(rt, "state"),
		Reach: rapid.SampledFrom([]approval.Reach{approval.ForSession, approval.ForSession, approval.Once, ""}).Draw(rt, "reach"),
	}
	m.fails = rapid.IntRange(0, 9).Draw(rt, "fails") == 0
	have, covered := m.kept[req.Key]
	covered = covered && req.Cacheable && m.now.Before(have.until)
	before := m.asked
	d := m.gate.Decide(context.Background(), req)
	allowed := covered || m.next.State == approval.Allowed && !m.fails
	switch {
	case d.Allowed != allowed || d.Cached != covered || (m.asked == before) != covered:
		rt.Fatalf("%+v after %d new questions; the model says covered %v, allowed %v", d, m.asked-before, covered, allowed)
	case covered && d.Approval != have.from:
		rt.Fatalf("covered by %s; the model says %s", d.Approval, have.from)
	case !covered && allowed:
		m.froms = append(m.froms, d.Approval)
		if req.Cacheable && m.next.Reach == approval.ForSession {
			m.kept[req.Key] = entry{d.Approval, m.now.Add(approval.DefaultCacheTime)}
		}
	}
}

func (m *model) drop(which func(rules.Key, entry) bool) {
	for k, e := range m.kept {
		if which(k, e) {
			delete(m.kept, k)
		}
	}
}

func (m *model) endSession(rt *rapid.T) {
	s := rapid.SampledFrom(m.turns).Draw(rt, "turn").Session()
	m.gate.EndSession(s)
	m.drop(func(k rules.Key, _ entry) bool { return k.Session == string(s) })
}

func (m *model) endCore(rt *rapid.T) {
	core := rapid.SampledFrom(m.turns).Draw(rt, "turn").Core().ID
	m.gate.EndCore(core)
	m.drop(func(k rules.Key, _ entry) bool { return k.Core == core })
}

// revoke takes an answer back here or, as another process does, through a gate of its own.
func (m *model) revoke(rt *rapid.T) {
	if len(m.froms) == 0 {
		rt.Skip("nothing was allowed yet")
	}
	from := rapid.SampledFrom(m.froms).Draw(rt, "answer")
	by := m.gate
	if rapid.Bool().Draw(rt, "elsewhere") {
		by = m.w.gate(func(*approval.Config) {})
	}
	for _, b := range m.turns {
		q, found, err := m.w.store.Question(context.Background(), b.Principal(), from)
		if err != nil || !found {
			continue
		}
		_, how, err := by.Revoke(context.Background(), b.Principal(), from, "")
		want := approval.Recorded
		switch {
		case q.Reach != approval.ForSession:
			want = approval.NotAllowance
		case !q.Revoked.IsZero():
			want = approval.AlreadyDecided
		}
		if how != want || err != nil {
			rt.Fatalf("revoked: %s, %v, want %s", how, err, want)
		}
		m.drop(func(_ rules.Key, e entry) bool { return e.from == from })
		return
	}
	rt.Fatal("nobody sees the question")
}

func (m *model) wait(rt *rapid.T) {
	*m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Hour, approval.DefaultCacheTime - time.Millisecond, approval.DefaultCacheTime}).Draw(rt, "for"))
}

// The cache of a gate answers as the model does, whatever is done to it in whatever order.
func TestTheCacheIsItsModel(t *testing.T) {
	for name, value := range map[string]string{"checks": fmt.Sprint(sequences), "steps": "12", "nofailfile": "true"} {
		if err := flag.Set("rapid."+name, value); err != nil {
			t.Fatal(err)
		}
	}
	ran, asked, covered := 0, 0, 0
	var w *world
	var turns []binding.Turn
	now := time.UnixMilli(1_800_000_000_000)
	rapid.Check(t, func(rt *rapid.T) {
		if ran%500 == 0 { // a store of its own now and then, so that none grows without end
			w = newWorld(func() time.Time { return now }, rand.New(rand.NewSource(int64(ran))))
			turns = nil
			for _, who := range []string{"a", "a", "b"} {
				for _, core := range []string{"assistant", "another"} {
					turns = append(turns, w.admit(t, talker(who), core, "r1"))
				}
			}
		}
		m := &model{t: rt, w: w, now: &now, turns: turns}
		m.restart(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"decide": m.decide, "decide again": m.decide, "and again": m.decide, "end session": m.endSession, "end core": m.endCore,
			"revoke": m.revoke, "wait": m.wait, "restart": m.restart,
		})
		ran++
		asked += m.asked
		covered += len(m.kept)
	})
	t.Logf("approval cache: %d sequences against the model, %d questions, %d allowances left standing", ran, asked, covered)
	if ran < sequences {
		t.Errorf("%d sequences, %d are due", ran, sequences)
	}
}

// The same under contention: whatever interleaves, an allowance covers only its own key, a revocation is final for those
// who came before it, and nothing is left behind.
func TestTheCacheUnderContention(t *testing.T) {
	w := realWorld()
	var turns []binding.Turn
	for _, who := range []string{"a", "b", "c"} {
		turns = append(turns, w.admit(t, talker(who), "assistant", "r1"))
	}
	var prompts atomic.Int64
	g := w.gate(func(c *approval.Config) {
		c.Prompter = &crowd{answer: func(_ context.Context, q approval.Question) (approval.Answer, error) {
			prompts.Add(1)
			return approval.Answer{State: approval.Allowed, Reach: approval.ForSession, By: q.Principal}, nil
		}}
	})
	const rounds, workers = 40, 8
	var all sync.WaitGroup
	var decided, cached atomic.Int64
	for n := range workers {
		all.Go(func() {
			r := rand.New(rand.NewSource(int64(n)))
			for range rounds {
				b := turns[r.Intn(len(turns))]
				req := w.request(b, fmt.Sprint(r.Intn(2)))
				ctx, cancel := context.WithCancel(context.Background())
				switch r.Intn(8) {
				case 0:
					g.EndSession(b.Session())
				case 1:
					go cancel()
				case 2:
					g.EndCore(b.Core().ID)
				}
				d := g.Decide(ctx, req)
				cancel()
				switch {
				case d.Allowed:
					decided.Add(1)
					q, found, err := w.store.Question(context.Background(), b.Principal(), d.Approval)
					if err != nil || !found || q.Session != b.Session() || q.Principal != b.Principal().PrincipalID() || q.RuleKey != req.Key.Rule || q.State != approval.Allowed {
						t.Errorf("allowed by another's answer: %+v %v", q, err)
					}
					if d.Cached {
						cached.Add(1)
					}
				case d.Reason != approval.ReasonRevoked && d.Reason != approval.ReasonInterrupt:
					t.Errorf("%+v", d)
				}
			}
		})
	}
	all.Wait()
	g.Close()
	t.Logf("approval cache: %d decisions by %d at a time, %d allowed (%d by an earlier answer), %d questions", rounds*workers, workers, decided.Load(), cached.Load(), prompts.Load())
	if allowed, lanes, under, wake := g.Left(); allowed+lanes+under+wake != 0 {
		t.Errorf("left: %d allowances, %d lanes, %d decisions, %d listeners", allowed, lanes, under, wake)
	}
	if cached.Load() == 0 || prompts.Load() == 0 {
		t.Error("the run shows nothing")
	}
}
