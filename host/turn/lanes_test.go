package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestTurnsOfOneLanePassInOrderAndOthersAreNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		leave, err := l.enter(t.Context(), "ses_a")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int
		var done sync.WaitGroup
		for n := range 5 {
			done.Go(func() {
				out, err := l.enter(context.Background(), "ses_a")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, n)
				mu.Unlock()
				out()
			})
			synctest.Wait() // n is queued before n+1 asks
		}
		other, err := l.enter(t.Context(), "ses_b")
		if err != nil {
			t.Fatal("another session was held up")
		}
		other()
		leave()
		done.Wait()
		if fmt.Sprint(order) != "[0 1 2 3 4]" {
			t.Fatalf("order %v", order)
		}
		if n := l.size(); n != 0 {
			t.Fatalf("%d idle lanes are kept", n)
		}
	})
}

func TestWaiterThatGivesUpLeavesNoHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		leave, err := l.enter(t.Context(), "ses_a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() { _, err := l.enter(ctx, "ses_a"); gaveUp <- err }()
		synctest.Wait()
		passed := make(chan struct{})
		go func() {
			out, err := l.enter(context.Background(), "ses_a")
			if err != nil {
				t.Error(err)
			}
			out()
			close(passed)
		}()
		synctest.Wait()
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Fatalf("gave up with %v", err)
		}
		leave()
		<-passed
		if n := l.size(); n != 0 {
			t.Fatalf("%d idle lanes are kept", n)
		}
	})
}

// The lock is hammered with waiters that give up at the moment the lane is handed to them.
func TestLanesHammer(t *testing.T) {
	var l lanes
	var holders, wg sync.WaitGroup
	inside := map[string]*atomic.Int32{"ses_0": {}, "ses_1": {}, "ses_2": {}}
	for g := range 8 {
		wg.Go(func() {
			for n := range 300 {
				key := fmt.Sprint("ses_", (g+n)%3)
				ctx, cancel := context.WithCancel(context.Background())
				if n%4 == 0 {
					holders.Go(cancel)
				}
				leave, err := l.enter(ctx, key)
				if err == nil {
					if now := inside[key].Add(1); now != 1 {
						t.Errorf("%d turns are in lane %s", now, key)
					}
					runtime.Gosched()
					inside[key].Add(-1)
					leave()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	holders.Wait()
	if n := l.size(); n != 0 || l.waiting != 0 {
		t.Fatalf("%d idle lanes are kept, %d waiters", n, l.waiting)
	}
}

// wait queues a waiter in lane s that stays until the returned function is called.
func (l *lanes) wait(t *testing.T, s string) (giveUp func()) {
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if leave, err := l.enter(ctx, s); err == nil {
			leave()
		}
	}()
	synctest.Wait()
	return func() { cancel(); <-gone }
}

func TestNoMoreThanABoundWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		full := func(s, where string) {
			t.Helper()
			var e *fullError
			if leave, err := l.enter(t.Context(), s); leave != nil || !errors.As(err, &e) || e.where != where {
				t.Fatalf("%s: %v", s, err)
			}
		}
		var leaves, waiters []func()
		for n := range MaxWaiting / MaxWaitingSession {
			s := fmt.Sprint("ses_", n)
			leave, err := l.enter(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
			for range MaxWaitingSession {
				waiters = append(waiters, l.wait(t, s))
			}
			full(s, "for this session")
		}
		other, err := l.enter(t.Context(), "ses_other") // what need not wait runs
		if err != nil {
			t.Fatal(err)
		}
		full("ses_other", "in this host")
		waiters[0]() // who gives up makes room, and who has waited long enough too
		waiters[0] = l.wait(t, "ses_other")
		full("ses_other", "in this host")
		other()
		synctest.Wait()
		leaves[1]()
		for _, giveUp := range waiters {
			giveUp()
		}
		for i, leave := range leaves {
			if i != 1 {
				leave()
			}
		}
		if l.size() != 0 || l.waiting != 0 {
			t.Fatalf("%d lanes and %d waiters are kept", l.size(), l.waiting)
		}
	})
}
