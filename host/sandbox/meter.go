package sandbox

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Names that metered modules carry. No guest may import from the module or
// export under the name.
const (
	yieldModule = "portcullis"
	yieldName   = "yield"
	fuelExport  = "portcullis:fuel"
	stackExport = "portcullis:stack"
	startExport = "portcullis:start"
	// globalExports is followed by the index of a mutable global.
	globalExports = "portcullis:global:"
)

// fuelSlice is what a guest gets at once: tens of microseconds of ordinary code,
// a few milliseconds when every instruction waits for memory or moves 16 bytes.
// It bounds how late a deadline is noticed, and how long Go's garbage collector
// waits for a guest.
const fuelSlice = 250_000

// maxStack bounds the native stack of one call. The meter counts frames by an
// estimate, of which a call gets as much as [stackFor] its module says. Of that
// encoding/json of a Go guest takes 12 MiB at the deepest nesting it allows,
// 10,000 lists. The engine doubles a stack by copying it, so that what a call
// holds for a moment is about twice as much.
const maxStack = 32 << 20

// metered writes a module that pays for what it executes, whose start function
// waits to be called, whose mutable globals can be read and set and whose data
// lies in few segments; what comes out is what runs. frames is what the meter counts for each function's
// frame. The error is a [*wasmbin.Refusal].
func metered(m *wasmbin.Module) (code []byte, frames []int64, err error) {
	m, err = m.ExportStart(startExport)
	if err != nil {
		return nil, nil, err
	}
	out, report, err := wasmbin.Meter(m.JoinData(), wasmbin.Options{
		YieldModule: yieldModule, YieldName: yieldName, FuelExport: fuelExport, Stack: maxStack, StackExport: stackExport,
		GlobalPrefix: globalExports,
	})
	if err != nil {
		return nil, nil, err
	}
	return out.Encode(), report.Frames, nil
}

// linkYield serves the import that metered modules call.
func linkYield(ctx context.Context, rt wazero.Runtime) error {
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := rt.NewHostModuleBuilder(yieldModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			st := ctx.Value(stateKey{}).(*callState)
			stack[0] = uint64(st.yield(ctx, int64(stack[0])))
		}), i64, i64).
		Export(yieldName).Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("link the meter: %w", err)
	}
	return nil
}

// begin gives the guest its first slice, so that a short call need not ask.
func (st *callState) begin() {
	slice := int64(fuelSlice)
	if st.fuelLimit > 0 {
		slice = min(slice, st.fuelLimit-st.fuelGiven-st.hostFuel)
	}
	if slice > 0 {
		st.fuelGiven += slice
		st.instance.fuel.Set(uint64(slice))
	}
}

// yield ends the guest when its call is over or its fuel used up, and gives it
// the next slice otherwise. left is below zero: what it owes for the code that
// it is about to run, or [wasmbin.StackPassed].
func (st *callState) yield(ctx context.Context, left int64) int64 {
	if left == wasmbin.StackPassed {
		st.stop(&trapError{status: LimitPassed, reason: "stack_depth"})
	}
	st.overdue(ctx)
	slice := max(fuelSlice, -left)
	if st.fuelLimit > 0 {
		slice = min(slice, st.fuelLimit-st.fuelGiven-st.hostFuel)
	}
	if left += slice; left < 0 {
		st.stop(&trapError{status: LimitPassed, reason: "fuel"})
	}
	st.fuelGiven += slice
	return left
}

// fuelUsed is what the guest has paid for; of one that was never instantiated,
// what it was given.
func (st *callState) fuelUsed() int64 {
	if st.instance == nil || st.instance.fuel == nil {
		return st.fuelGiven + st.hostFuel
	}
	return st.fuelGiven + st.hostFuel - max(0, int64(st.instance.fuel.Get()))
}
