package sandbox

import (
	"context"

	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/tetratelabs/wazero/api"
)

// The value types that host functions use, as they stand in a binary.
const (
	valueI32 = api.ValueTypeI32
	valueI64 = api.ValueTypeI64
)

// hostFunc is one function of a host module. It reads its parameters from the
// stack and writes its result to stack[0].
type hostFunc struct {
	name string
	signature
	// cost is what a call with these parameters costs beyond costHostCall; nil
	// is nothing.
	cost func(st *callState, stack []uint64) int64
	call func(ctx context.Context, st *callState, mod api.Module, stack []uint64)
}

// onBlocks makes a hostFunc of a function over the call's state alone.
func onBlocks(name string, params, results []byte, f func(st *callState, stack []uint64)) hostFunc {
	return hostFunc{name, signature{params, results}, nil, func(_ context.Context, st *callState, _ api.Module, stack []uint64) { f(st, stack) }}
}

// paid makes a function cost more than a call.
func paid(f hostFunc, cost func(st *callState, stack []uint64) int64) hostFunc {
	f.cost = cost
	return f
}

// kernelFuncs is extism:host/env, the Extism kernel ABI (extism proposal
// EIP-007), without the five functions that no guest gets.
func kernelFuncs() []hostFunc {
	type v = []byte
	i64, i32 := v{valueI64}, v{valueI32}
	fs := []hostFunc{
		onBlocks("input_length", nil, i64, func(st *callState, s []uint64) { s[0] = uint64(len(st.input)) }),
		onBlocks("input_offset", nil, i64, func(st *callState, s []uint64) { s[0] = st.inputOff }),
		onBlocks("input_load_u8", i64, i32, func(st *callState, s []uint64) { s[0] = uint64(st.load(st.inputAt(s[0], 1), 1)[0]) }),
		onBlocks("input_load_u64", i64, i64, func(st *callState, s []uint64) { s[0] = st.load64(st.inputAt(s[0], 8)) }),
		onBlocks("load_u8", i64, i32, func(st *callState, s []uint64) { s[0] = uint64(st.load(s[0], 1)[0]) }),
		onBlocks("load_u64", i64, i64, func(st *callState, s []uint64) { s[0] = st.load64(s[0]) }),
		onBlocks("store_u8", v{valueI64, valueI32}, nil, func(st *callState, s []uint64) { st.store(s[0], 1)[0] = byte(s[1]) }),
		onBlocks("store_u64", v{valueI64, valueI64}, nil, func(st *callState, s []uint64) { st.store64(s[0], s[1]) }),
		paid(onBlocks("alloc", i64, i64, func(st *callState, s []uint64) { s[0] = st.arena.alloc(s[0]) }), func(_ *callState, s []uint64) int64 { return byLength(min(s[0], wire.HardMemoryBytes)) }),
		paid(onBlocks("free", i64, nil, func(st *callState, s []uint64) { st.arena.free(s[0]) }), func(st *callState, _ []uint64) int64 { return st.arena.costOfFree() }),
		onBlocks("length", i64, i64, func(st *callState, s []uint64) { s[0] = st.arena.length(s[0]) }),
		onBlocks("length_unsafe", i64, i64, func(st *callState, s []uint64) { s[0] = st.arena.length(s[0]) }),
		paid(onBlocks("output_set", v{valueI64, valueI64}, nil, func(st *callState, s []uint64) { st.setOutput(s[0], s[1]) }), func(_ *callState, s []uint64) int64 { return byLength(min(s[1], wire.HardOutputBytes)) }),
		onBlocks("error_set", i64, nil, func(st *callState, s []uint64) { st.setError(s[0]) }),
		onBlocks("error_get", nil, i64, func(st *callState, s []uint64) { s[0] = st.errorOff }),
		onBlocks("config_get", i64, i64, func(st *callState, s []uint64) { s[0] = st.setting(s[0]) }),
		onBlocks("get_log_level", nil, i32, func(_ *callState, s []uint64) { s[0] = 0 }), // trace: the host filters
	}
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		record := level
		if level == "trace" {
			record = "debug" // the contract has no word below debug
		}
		fs = append(fs, paid(onBlocks("log_"+level, i64, nil, func(st *callState, s []uint64) { st.logBlock(record, s[0]) }), func(*callState, []uint64) int64 { return costLog }))
	}
	return fs
}

// userFuncs is extism:host/user: one function for each ability, and the two
// bulk copies.
func userFuncs() []hostFunc {
	bulk := []byte{valueI64, valueI32, valueI32}
	fs := []hostFunc{
		{wire.ImportLoad, signature{bulk, nil}, nil, func(ctx context.Context, st *callState, mod api.Module, s []uint64) {
			if n := uint32(s[2]); n > 0 {
				st.move(ctx, st.guest(mod, uint32(s[1]), n), st.load(s[0], uint64(n)))
			}
		}},
		{wire.ImportStore, signature{bulk, nil}, nil, func(ctx context.Context, st *callState, mod api.Module, s []uint64) {
			if n := uint32(s[2]); n > 0 {
				st.move(ctx, st.store(s[0], uint64(n)), st.guest(mod, uint32(s[1]), n))
			}
		}},
	}
	for i := range abilityTable {
		a := &abilityTable[i]
		fs = append(fs, hostFunc{a.name, signature{[]byte{valueI64}, []byte{valueI64}}, nil, func(ctx context.Context, st *callState, mod api.Module, s []uint64) {
			st.spend(ctx, costAbility+byLength(st.arena.length(s[0])))
			s[0] = st.ability(ctx, a, s[0])
			st.spend(ctx, byLength(st.arena.length(s[0])))
		}})
	}
	return fs
}

// stateKey finds the call's state in the context that the engine hands to host
// functions.
type stateKey struct{}
