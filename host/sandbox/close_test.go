package sandbox_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// Calls of modules without ports run where they were asked for. A closing engine
// ends them too: one that computes and one that sleeps.
func TestCloseEndsCallsThatWaitForNobody(t *testing.T) {
	for name, export := range map[string]string{"busy": "loop", "wasi": "sleep_an_hour"} {
		t.Run(export, func(t *testing.T) {
			for range 50 { // it may close before the guest is entered
				e, err := sandbox.Open(t.Context(), sandbox.Config{})
				if err != nil {
					t.Fatal(err)
				}
				p := load(t, e, name, export)
				result := make(chan sandbox.Outcome, 1)
				go func() {
					result <- p.Call(context.Background(), export, nil, sandbox.CallOptions{Timeout: 3 * time.Second})
				}()
				for e.Busy() == 0 {
					runtime.Gosched()
				}
				for range 100 {
					runtime.Gosched()
				}
				if err := e.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if out := <-result; out.Entered {
					want(t, out, sandbox.Cancelled, "")
					return
				}
			}
			t.Error("the guest was never entered")
		})
	}
}
