package sandbox

import (
	"context"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// What a host call costs a guest in units of fuel, besides what the meter takes
// for the call instruction. A guest that does nothing but call the host is
// stopped as soon as one that computes, and a fuel limit bounds both.
const (
	costHostCall  = 50    // any
	costWASI      = 100   // any function of WASI
	costLog       = 2_000 // a line is escaped and may be kept
	costAbility   = 2_000 // decoding, encoding, a port
	hostBytesUnit = 16    // bytes moved or made for one unit
	copyChunk     = 1 << 20
)

// Bounds of WASI calls that take lists. Language runtimes pass one or a few
// entries; each entry costs the host memory and time.
const (
	maxIovecs        = 1024
	maxSubscriptions = 128
)

// byLength is the price of n bytes.
func byLength(n uint64) int64 { return int64(min(n, 1<<40) / hostBytesUnit) }

// overdue ends the guest when its call is over, and lets others have the
// processor: calls of other plugins and the steps of the collector. Left to the
// scheduler a guest would keep it for ten milliseconds at a time, and one
// collection takes hundreds of turns.
func (st *callState) overdue(ctx context.Context) {
	runtime.Gosched()
	st.heed()
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done() // its timer is due: how the call ended is read from ctx
	}
	if ctx.Err() != nil {
		st.stop(trapped("call_is_over"))
	}
}

// heed ends the call when the engine is closing.
func (st *callState) heed() {
	select {
	case <-st.closing:
		st.abort(errClosing)
	default:
	}
}

// spend takes fuel for work that the host is about to do for the guest, and
// ends the guest when its call is over or its fuel used up.
func (st *callState) spend(ctx context.Context, units int64) {
	st.hostFuel += units
	if st.hostSince += units; st.hostSince >= fuelSlice/4 {
		st.hostSince = 0
		st.overdue(ctx)
	}
	if over := st.fuelGiven + st.hostFuel - st.fuelLimit; st.fuelLimit > 0 && over > 0 {
		// What the guest has left of its slice pays first.
		fuel := st.instance.fuel
		left := int64(fuel.Get())
		if left < over {
			st.hostFuel -= over - max(0, left) // never more than the limit
			st.stop(&trapError{status: LimitPassed, reason: "fuel"})
		}
		fuel.Set(uint64(left - over))
		st.fuelGiven -= over
	}
}

// move copies src to dst, which have the same length, in chunks that are paid
// one by one.
func (st *callState) move(ctx context.Context, dst, src []byte) {
	for len(src) > 0 {
		n := min(len(src), copyChunk)
		st.spend(ctx, byLength(uint64(n)))
		copy(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
}

// wasiCosts makes each WASI function pay before it runs, and refuses lists that
// no runtime passes. The functions are the engine's own; this listens to them.
type wasiCosts struct{}

// NewFunctionListener is called once for each function, when it is linked.
func (wasiCosts) NewFunctionListener(def api.FunctionDefinition) experimental.FunctionListener {
	name := def.ExportNames()[0]
	return experimental.FunctionListenerFunc(func(ctx context.Context, _ api.Module, _ api.FunctionDefinition, params []uint64, _ experimental.StackIterator) {
		st := ctx.Value(stateKey{}).(*callState)
		units := int64(costWASI)
		switch name {
		case "random_get":
			n := uint32(params[1])
			if t := st.session.takeRandom(int64(n)); t != nil {
				st.stop(t)
			}
			units += 4 * byLength(uint64(n))
		case "fd_read", "fd_pread", "fd_write", "fd_pwrite":
			n := uint32(params[2])
			if n > maxIovecs {
				st.stop(&trapError{status: LimitPassed, reason: "wasi_buffers"})
			}
			units += int64(n) * costWASI
		case "poll_oneoff":
			n := uint32(params[2])
			if n > maxSubscriptions {
				st.stop(&trapError{status: LimitPassed, reason: "wasi_subscriptions"})
			}
			units += int64(n) * costWASI
		}
		st.spend(ctx, units)
	})
}

var _ experimental.FunctionListenerFactory = wasiCosts{}
