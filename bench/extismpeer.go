package main

import (
	"context"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// startExtism is a guest of the Extism ABI under its own SDK, which moves eight bytes a crossing: in one plugin that is
// used again, which keeps the state of earlier calls, and in an instance of its own for each call.
func startExtism(ctx context.Context) ([]peer, func(), error) {
	wasm, err := guest("echo_words.wasm")
	if err != nil {
		return nil, nil, err
	}
	compiled, err := extism.NewCompiledPlugin(ctx, extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}}, extism.PluginConfig{}, nil)
	if err != nil {
		return nil, nil, err
	}
	config := extism.PluginInstanceConfig{ModuleConfig: wazero.NewModuleConfig()}
	kept, err := compiled.Instance(ctx, config)
	if err != nil {
		_ = compiled.Close(ctx)
		return nil, nil, err
	}
	stop := func() {
		_ = kept.Close(context.WithoutCancel(ctx))
		_ = compiled.Close(context.WithoutCancel(ctx))
	}
	hot := func(ctx context.Context, doc []byte) ([]byte, error) {
		_, out, err := kept.CallWithContext(ctx, "run", doc)
		return out, err
	}
	fresh := func(ctx context.Context, doc []byte) ([]byte, error) {
		p, err := compiled.Instance(ctx, config)
		if err != nil {
			return nil, err
		}
		defer func() { _ = p.Close(ctx) }()
		_, out, err := p.CallWithContext(ctx, "run", doc)
		return out, err
	}
	return []peer{{extismHot, hot}, {extismNew, fresh}}, stop, nil
}
