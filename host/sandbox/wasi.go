package sandbox

import (
	"context"

	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// The WASI error numbers that this package answers itself.
const (
	wasiBadFD        = 8
	wasiNotSupported = 58
)

// compileWASI is the engine's WASI without the two functions that change what an
// instance keeps for life, its table of descriptors: what one call closed would
// be closed in the next. The standard streams, which is all there are, stay as
// they are; closing one succeeds and does nothing. Every function pays before it
// runs; see [wasiCosts].
func compileWASI(ctx context.Context, rt wazero.Runtime) (wazero.CompiledModule, error) {
	b := rt.NewHostModuleBuilder(wire.ModuleWASI)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	stream := func(fd uint64) bool { return uint32(fd) <= 2 }
	i32 := []api.ValueType{api.ValueTypeI32}
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) {
		if stream(s[0]) {
			s[0] = 0
		} else {
			s[0] = wasiBadFD
		}
	}), i32, i32).Export("fd_close")
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) {
		if stream(s[0]) && stream(s[1]) {
			s[0] = wasiNotSupported
		} else {
			s[0] = wasiBadFD
		}
	}), []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}, i32).Export("fd_renumber")
	return b.Compile(experimental.WithFunctionListenerFactory(ctx, wasiCosts{}))
}
