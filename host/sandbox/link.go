package sandbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/sdk/wire"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// linkHost instantiates the host functions that a verified module imports, and
// the meter's. What is not imported is not there.
func linkHost(ctx context.Context, rt wazero.Runtime, imports []binImport) error {
	if err := linkYield(ctx, rt); err != nil {
		return err
	}
	from := func(module string) func(name string) bool {
		return func(name string) bool {
			return slices.ContainsFunc(imports, func(i binImport) bool { return i.module == module && i.name == name })
		}
	}
	if slices.ContainsFunc(imports, func(i binImport) bool { return i.module == wire.ModuleWASI }) {
		wasi, err := compileWASI(ctx, rt)
		if err != nil {
			return err
		}
		if _, err = rt.InstantiateModule(ctx, wasi, wazero.NewModuleConfig().WithName(wire.ModuleWASI)); err != nil {
			return err
		}
	}
	if err := link(ctx, rt, wire.ModuleKernel, kernelFuncs(), from(wire.ModuleKernel)); err != nil {
		return err
	}
	return link(ctx, rt, wire.ModuleHost, userFuncs(), from(wire.ModuleHost))
}

// link instantiates those functions of one host module that are wanted.
func link(ctx context.Context, rt wazero.Runtime, module string, fs []hostFunc, wanted func(name string) bool) error {
	b, none := rt.NewHostModuleBuilder(module), true
	for _, f := range fs {
		if !wanted(f.name) {
			continue
		}
		none = false
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
			st := ctx.Value(stateKey{}).(*callState)
			units := int64(costHostCall)
			if f.cost != nil {
				units += f.cost(st, stack)
			}
			st.spend(ctx, units)
			f.call(ctx, st, mod, stack)
		}), f.params, f.results).Export(f.name)
	}
	if none {
		return nil
	}
	_, err := b.Instantiate(ctx)
	return err
}

// servedBy lists what guests may import, with its types.
func servedBy(ctx context.Context) (served, error) {
	s := served{wire.ModuleWASI: {}, wire.ModuleKernel: {}, wire.ModuleHost: {}}
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	wasi, err := compileWASI(ctx, rt)
	if err != nil {
		return nil, fmt.Errorf("sandbox: list the host functions: %w", err)
	}
	for name, f := range wasi.ExportedFunctions() {
		s[wire.ModuleWASI][name] = signature{f.ParamTypes(), f.ResultTypes()}
	}
	for module, fs := range map[string][]hostFunc{wire.ModuleKernel: kernelFuncs(), wire.ModuleHost: userFuncs()} {
		for _, f := range fs {
			s[module][f.name] = f.signature
		}
	}
	return s, nil
}
