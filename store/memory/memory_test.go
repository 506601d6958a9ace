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
	storetest.Run(t, func(*testing.T) storetest.Harness {
		clock := storetest.NewClock()
		s := memory.New(memory.Config{Clock: clock.Now, IDs: id.NewSource(clock.Now, rand.Reader)})
		return storetest.Harness{
			Store: s, Clock: clock, Issuer: principal.NewIssuer(string(s.StoreID())),
			Disown: func(_ testing.TB, session id.Session) { s.Disown(session) },
			Doubt:  func(_ testing.TB, session id.Session) { s.Doubt(session) },
		}
	})
}
