package storetest

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Linear lets clients use one store at the same time, history after history, and holds that all they were answered is what
// some order of their calls, one after the other, would have answered: an order in which no call comes before one that had
// already returned when it was made. PORTCULLIS_HISTORIES sets how many histories there are of each kind.
func Linear(t *testing.T, open Opener) {
	n := 20
	if text := os.Getenv("PORTCULLIS_HISTORIES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range contentions() {
		t.Run(c.name, func(t *testing.T) {
			calls := 0
			for seed := range n {
				history, verdict := c.contend(t, open, int64(seed), func(s Store) Store { return s })
				calls += len(history)
				if verdict != porcupine.Ok {
					t.Fatalf("history %d is %s:\n%s", seed, verdict, spell(c.model, history))
				}
			}
			t.Logf("linear: %s: %d histories with %d calls", c.name, n, calls)
		})
	}
}

// LinearCanFail holds that [Linear] notices a store that forgets a rule: each kind of history is played against one that
// forgets the rule which it is about.
func LinearCanFail(t *testing.T, open Opener) {
	for _, c := range contentions() {
		t.Run(c.name, func(t *testing.T) {
			for seed := range 200 {
				if _, verdict := c.contend(t, open, int64(seed), c.spoil); verdict == porcupine.Illegal {
					t.Logf("linear: %s: a store that forgets its rule is found out in history %d", c.name, seed)
					return
				}
			}
			t.Error("no history shows that the store forgets its rule")
		})
	}
}

// contention is one kind of history.
type contention struct {
	name  string
	model porcupine.Model
	// play sets the scene and says what each client does: its calls one after the other, all clients at once.
	play  func(t testing.TB, w *world, r *rand.Rand) [][]step
	spoil func(Store) Store // takes the rule away that this is about
}

// step is one call: do returns what the store answered to in.
type step struct {
	in any
	do func() any
}

// contend plays one history and judges it.
func (c contention) contend(t testing.TB, open Opener, seed int64, wrap func(Store) Store) ([]porcupine.Operation, porcupine.CheckResult) {
	h, done := open(t)
	defer done()
	w := newWorld(t, h)
	clients := c.play(t, w, rand.New(rand.NewSource(seed)))
	w.Store = wrap(w.Store) // the scene is set by a store that is whole
	var (
		mu      sync.Mutex // guards history
		history []porcupine.Operation
		all     sync.WaitGroup
		start   = make(chan struct{})
		began   = time.Now()
	)
	for client, steps := range clients {
		all.Go(func() {
			<-start
			for _, s := range steps {
				called := time.Since(began).Nanoseconds()
				out := s.do()
				op := porcupine.Operation{ClientId: client, Input: s.in, Call: called, Output: out, Return: time.Since(began).Nanoseconds()}
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	close(start)
	all.Wait()
	return history, porcupine.CheckOperationsTimeout(c.model, history, 30*time.Second)
}

// spell is a history in words.
func spell(m porcupine.Model, history []porcupine.Operation) string {
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "%8d..%8d client %d: %+v -> %+v\n", op.Call, op.Return, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}
