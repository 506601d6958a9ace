package outbox_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/outbox"
)

// A sender that heeds no context holds neither its lane nor a shutdown: what it was given is unknown, and so many attempts of it
// go on at the most.
func TestASenderThatHeedsNoEndIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var owed []id.Delivery
		for n := range 6 {
			owed = append(owed, w.owe("deaf", fmt.Sprint("person", n), "x"))
		}
		release := make(chan struct{})
		end := w.run(w.store, channel{"deaf", false, func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
			<-release
			return outbox.Receipt{Verdict: outbox.Accepted}
		}})
		pass(36 * time.Second)
		if is := w.is(owed[0]); is.State != outbox.Unknown || is.Reason != outbox.ReasonSenderHangs {
			t.Errorf("the first is %s (%s)", is.State, is.Reason)
		}
		if is := w.is(owed[1]); is.State != outbox.Sending {
			t.Errorf("the next is %s", is.State)
		}
		pass(10 * time.Minute)
		for n, d := range owed {
			if is := w.is(d); (is.State == outbox.Unknown) != (n < 4) || (is.State == outbox.Queued) != (n >= 4) {
				t.Errorf("delivery %d is %s", n, is.State)
			}
		}
		if n := w.log.count("does not come back"); n != 1 {
			t.Errorf("it was told %d times", n)
		}
		close(release) // they come back after all: what they say changes nothing, and the lane goes on
		pass(2 * time.Second)
		for n, d := range owed {
			if is := w.is(d); (is.State == outbox.Unknown) != (n < 4) || (is.State == outbox.Delivered) != (n >= 4) {
				t.Errorf("afterwards delivery %d is %s", n, is.State)
			}
		}
		end()
	})
}

func TestAShutdownWaitsForNoSenderThatHeedsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := w.owe("deaf", "ann", "x")
		release := make(chan struct{})
		defer close(release)
		end := w.run(w.store, channel{"deaf", false, func(context.Context, id.Delivery, outbox.Delivery) outbox.Receipt {
			<-release
			return outbox.Receipt{Verdict: outbox.Accepted}
		}})
		pass(time.Second)
		began := time.Now()
		end()
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the shutdown took %s", took)
		}
		if is := w.is(d); is.State != outbox.Unknown {
			t.Errorf("it is %s (%s)", is.State, is.Reason)
		}
	})
}
