package hostile_test

import (
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// resourceGuests want more time, memory, stack, code or attention than they get.
func resourceGuests() []guest {
	limits := func(change func(*manifest.Manifest)) func(*manifest.Manifest) { return change }
	memory := func(n int64) func(*manifest.Manifest) {
		return limits(func(m *manifest.Manifest) { m.Limits.MemoryBytes = n })
	}
	return []guest{
		{name: "spin", status: effect.TimedOut, reason: "deadline"},
		{name: "call-tree", status: effect.TimedOut, reason: "deadline"},
		{name: "mutual-recursion", status: effect.Failed, reason: "limit_passed", says: "stack_depth"},
		{name: "deep-recursion", status: effect.Failed, reason: "limit_passed", says: "stack_depth"},
		{name: "table-recursion", status: effect.Failed, reason: "limit_passed", says: "stack_depth"},
		{name: "frames-by-locals", status: effect.Failed, reason: "limit_passed", says: "stack_depth"},
		{name: "frames-by-operands", status: effect.Failed, reason: "limit_passed", says: "stack_depth"},
		{name: "frames-by-vectors", status: effect.Failed, reason: "limit_passed", says: "stack_depth"},
		{name: "memory-grow", status: effect.Failed, reason: "out_of_memory"},
		{name: "memory-fill", edit: memory(64 << 20), status: effect.TimedOut, reason: "deadline"},
		{name: "memory-copy", status: effect.TimedOut, reason: "deadline"},
		{name: "table-grow", status: effect.Succeeded, says: `"ok":true`},
		{name: "huge-table", status: effect.Failed, reason: "plugin_malformed", says: "100000000 entries"},
		{name: "huge-memory", edit: memory(512 << 20), status: effect.Failed, reason: "plugin_memory"},
		{name: "start-loop", status: effect.TimedOut, reason: "deadline"},
		{name: "initialize-loop", status: effect.TimedOut, reason: "deadline"},
		{name: "initialize-grow", status: effect.Failed, reason: "out_of_memory"},
		{name: "log-flood", status: effect.Succeeded, says: `"ok":true`},
		{name: "emit-flood", status: effect.Failed, reason: "limit_passed", says: "host_calls"},
		{name: "output-flood", status: effect.Failed, reason: "output_too_large"},
		{name: "kv-flood", status: effect.Succeeded, says: "too_large"},
		{
			name: "http-flood", args: `{"method":"GET","url":"SERVER/"}`, play: atMostRequests(5),
			edit:   limits(func(m *manifest.Manifest) { m.Limits.HTTPCalls, m.Limits.HostCalls = 5, 500 }),
			status: effect.Failed, reason: "limit_passed", says: "host_calls",
		},
		{name: "http-hang", args: `{"method":"GET","url":"SERVER/hang"}`, deadline: 2 * time.Second, status: effect.Succeeded, says: `"timeout"`},
		{
			name: "http-endless-body", args: `{"method":"GET","url":"SERVER/endless"}`,
			edit:   limits(func(m *manifest.Manifest) { m.Limits.HTTPBytes = 1 << 20 }),
			status: effect.Succeeded, says: "too_large",
		},
		{name: "alloc-bomb", status: effect.Failed, reason: "out_of_memory"},
		{name: "block-bomb", status: effect.Failed, reason: "out_of_memory"},
		{name: "alloc-spin", status: effect.TimedOut, reason: "deadline"},
		{name: "stderr-flood", status: effect.TimedOut, reason: "deadline"},
		{name: "sleep-flood", status: effect.TimedOut, reason: "deadline"},
		{name: "random-flood", status: effect.Failed, reason: "limit_passed", says: "random_bytes"},
		{name: "host-random-flood", status: effect.Failed, reason: "limit_passed", says: "random_bytes"},
		{name: "host-call-spin", status: effect.Failed, reason: "limit_passed", says: "host_calls"},
		{
			name: "file-flood", status: effect.Succeeded, says: "too_large",
			edit: limits(func(m *manifest.Manifest) { m.Limits.FileBytes = 8 << 20 }),
		},
	}
}

// atMostRequests calls the guest and counts what reached the server.
func atMostRequests(n int64) func(*testing.T, *world, installed) answer {
	return func(t *testing.T, w *world, p installed) answer {
		before := w.server.asked.Load()
		got := w.call(t, p, p.guest.args)
		if asked := w.server.asked.Load() - before; asked > n {
			t.Errorf("%d requests reached the server, the limit is %d", asked, n)
		}
		return got
	}
}
