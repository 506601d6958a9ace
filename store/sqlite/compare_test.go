package sqlite

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
	"github.com/b3abf3ee/portcullis/store/storetest"
)

// TestTwin holds that the durable store and the in-memory one give the same answers.
func TestTwin(t *testing.T) { storetest.Compare(t, copies(t), inMemory) }

// TestModel holds the durable store to the model, as the in-memory one is held in its own package.
func TestModel(t *testing.T) { storetest.Model(t, copies(t)) }

// TestLinear holds it to answer clients at the same time as if they had come one after the other.
func TestLinear(t *testing.T) { storetest.Linear(t, copies(t)) }

// copies opens a new copy of one empty database each time, which is much quicker than making one anew.
func copies(t *testing.T) storetest.Opener {
	t.Helper()
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.db")
	first, _ := open(t, empty)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(empty)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	return func(t testing.TB) (storetest.Harness, func()) {
		path := filepath.Join(folder, fmt.Sprint(n.Add(1), ".db"))
		if err := os.WriteFile(path, image, fileMode); err != nil {
			t.Fatal(err)
		}
		clock := storetest.NewClock()
		s, err := Open(t.Context(), Config{Path: path, Clock: clock.Now, IDs: id.NewSource(clock.Now, rand.Reader)})
		if err != nil {
			t.Fatal(err)
		}
		h := storetest.Harness{Store: s, Clock: clock, Issuer: principal.NewIssuer(string(s.StoreID())), Disown: s.disown, Doubt: s.doubt}
		return h, func() {
			if err := errors.Join(s.Close(), discard(path)); err != nil {
				t.Error(err)
			}
		}
	}
}

func inMemory(testing.TB) (storetest.Harness, func()) {
	clock := storetest.NewClock()
	s := memory.New(memory.Config{Clock: clock.Now, IDs: id.NewSource(clock.Now, rand.Reader)})
	return storetest.Harness{
		Store: s, Clock: clock, Issuer: principal.NewIssuer(string(s.StoreID())),
		Disown: func(_ testing.TB, session id.Session) { s.Disown(session) },
		Doubt:  func(_ testing.TB, session id.Session) { s.Doubt(session) },
	}, func() {}
}
