// Package open chooses the adapter a configuration names. It stands apart from
// package provider because the adapters import that one.
//
// It owns nothing but the choice and the retry wrapper around it, and refuses
// what [provider.Config.Validate] and the adapters refuse.
package open

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/anthropic"
	"github.com/b3abf3ee/portcullis/host/provider/openai"
	"github.com/b3abf3ee/portcullis/host/provider/scripted"
)

// Model returns the model of cfg, wrapped in [provider.Retrying] under
// cfg.Retry. It reads the script file of a scripted model and opens no
// connection. The error holds a [*provider.ConfigError] or a
// [*scripted.SyntaxError] where one of them is the reason.
func Model(ctx context.Context, cfg provider.Config, deps provider.Deps) (*provider.Retrying, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("provider: open model: %w", err)
	}
	model, err := adapter(cfg, deps)
	if err != nil {
		return nil, fmt.Errorf("provider: open model: %w", err)
	}
	return provider.WithRetry(model, cfg.Retry, deps.Clock, deps.Random), nil
}

func adapter(cfg provider.Config, deps provider.Deps) (provider.Model, error) {
	switch cfg.Kind {
	case provider.Scripted:
		return scripted.New(cfg)
	case provider.Anthropic:
		return anthropic.New(cfg, deps)
	case provider.OpenAI:
		return openai.New(cfg, deps)
	default:
		return nil, cfg.Validate()
	}
}
