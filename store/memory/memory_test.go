package memory_test

import (
	"crypto/rand"
	"testing"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/store/memory"
	"github.com/b3abf3ee/portcullis/store/storetest"
)

var _ storetest.Store = (*memory.Store)(nil)

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		h, _ := open(t)
		return h
	})
}

func TestModel(t *testing.T) { storetest.Model(t, open) }

func TestLinear(t *testing.T) { storetest.Linear(t, open) }

func TestAStoreThatForgetsARuleIsFoundOut(t *testing.T) { storetest.LinearCanFail(t, open) }

// open is an empty store.
func open(testing.TB) (storetest.Harness, func()) {
	clock := storetest.NewClock()
	s := memory.New(memory.Config{Clock: clock.Now, IDs: id.NewSource(clock.Now, rand.Reader)})
	return storetest.Harness{
		Store: s, Clock: clock, Issuer: principal.NewIssuer(string(s.StoreID())),
		Disown: func(_ testing.TB, session id.Session) { s.Disown(session) },
		Doubt:  func(_ testing.TB, session id.Session) { s.Doubt(session) },
	}, func() {}
}
