package main

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// floor serves the six host functions that the guest imports from two buffers, with no bound and no check.
type floor struct{ in, out []byte }

// The offsets at which the guest finds its input and its output.
const inputAt, outputAt = 1 << 12, 1 << 32

// startRaw is the same guest on wazero alone, unmetered, in one instance that is used again: the floor.
func startRaw(ctx context.Context) ([]peer, func(), error) {
	wasm, err := guest("echo_args.wasm")
	if err != nil {
		return nil, nil, err
	}
	rt := wazero.NewRuntime(ctx)
	stop := func() { _ = rt.Close(context.WithoutCancel(ctx)) }
	f := &floor{}
	if err := f.link(ctx, rt); err != nil {
		stop()
		return nil, nil, err
	}
	mod, err := rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		stop()
		return nil, nil, err
	}
	invoke := mod.ExportedFunction("portcullis_invoke")
	const before, after = `{"id":"eff_00000000000000000000000000","tool":"echo.run","args":`, `}`
	call := func(ctx context.Context, doc []byte) ([]byte, error) {
		f.in = append(append(append(f.in[:0], before...), doc...), after...)
		if _, err := invoke.Call(ctx); err != nil {
			return nil, err
		}
		return f.out[len(`{"result":`) : len(f.out)-1], nil
	}
	return []peer{{rawWazero, call}}, stop, nil
}

func (f *floor) link(ctx context.Context, rt wazero.Runtime) error {
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	type types = []api.ValueType
	type function = func(mod api.Module, stack []uint64)
	export := func(b wazero.HostModuleBuilder, name string, params, results types, do function) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, mod api.Module, stack []uint64) {
			do(mod, stack)
		}), params, results).Export(name)
	}
	kernel := rt.NewHostModuleBuilder("extism:host/env")
	export(kernel, "input_length", nil, types{i64}, func(_ api.Module, s []uint64) { s[0] = uint64(len(f.in)) })
	export(kernel, "input_offset", nil, types{i64}, func(_ api.Module, s []uint64) { s[0] = inputAt })
	export(kernel, "alloc", types{i64}, types{i64}, func(_ api.Module, s []uint64) {
		if n := int(s[0]); cap(f.out) < n {
			f.out = make([]byte, n)
		} else {
			f.out = f.out[:n]
		}
		s[0] = outputAt
	})
	export(kernel, "output_set", types{i64, i64}, nil, func(_ api.Module, s []uint64) { f.out = f.out[:s[1]] })
	if _, err := kernel.Instantiate(ctx); err != nil {
		return err
	}
	user := rt.NewHostModuleBuilder("extism:host/user")
	export(user, "portcullis_load", types{i64, i32, i32}, nil, func(mod api.Module, s []uint64) {
		mod.Memory().Write(uint32(s[1]), f.in[s[0]-inputAt:][:uint32(s[2])])
	})
	export(user, "portcullis_store", types{i64, i32, i32}, nil, func(mod api.Module, s []uint64) {
		if b, ok := mod.Memory().Read(uint32(s[1]), uint32(s[2])); ok {
			copy(f.out[s[0]-outputAt:], b)
		}
	})
	_, err := user.Instantiate(ctx)
	return err
}
