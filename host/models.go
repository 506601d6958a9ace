package host

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/net"
	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/open"
	"github.com/b3abf3ee/portcullis/host/provider/scripted"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/egress"
)

// model returns the model of one turn and what the core asks of it. A model is made once for each thing it is made
// from and kept: a scripted one remembers how far each session is, the others keep connections.
func (h *Host) model(ctx context.Context, c core.Core, req turn.Request) (provider.Model, core.Model, error) {
	asked := c.Model()
	if m, ok := h.cfg.Models[asked.Provider]; ok && req.Model.Script == "" {
		return m, asked, nil
	}
	if req.Model.Script != "" {
		m, err := h.keep("script "+req.Model.Script, func() (provider.Model, error) {
			return open.Model(ctx, provider.Config{Kind: provider.Scripted, Script: req.Model.Script}, provider.Deps{})
		})
		return m, core.Model{}, err
	}
	if asked.Provider == core.Scripted && req.Model.Provider == "" {
		m, err := h.keep("core "+c.ID()+" "+c.Revision(), func() (provider.Model, error) {
			s, err := scripted.Parse("cores/"+c.ID()+"/"+c.ScriptName(), c.Script())
			if err != nil {
				return nil, err
			}
			return s.Model(), nil
		})
		return m, asked, err
	}
	entry, asked, err := h.choose(c, req.Model)
	if err != nil {
		return nil, asked, err
	}
	key := fmt.Sprintf("provider %s %s %d %d", entry.Name, asked.Name, asked.ContextWindow, asked.MaxOutputTokens)
	m, err := h.keep(key, func() (provider.Model, error) { return h.connect(ctx, entry, asked) })
	return m, asked, err
}

// choose joins the core's wish with the request's override.
func (h *Host) choose(c core.Core, want turn.ModelChoice) (core.Provider, core.Model, error) {
	if want.Provider == "" {
		entry, asked, err := h.settings.ModelFor(c)
		if want.Name != "" {
			asked.Name = want.Name
		}
		return entry, asked, err
	}
	entry, ok := h.settings.Provider(want.Provider)
	if !ok {
		return core.Provider{}, core.Model{}, fmt.Errorf("provider %s is not in config.yaml: add it below providers there", want.Provider)
	}
	asked := entry.Model
	if want.Name != "" {
		asked.Name = want.Name
	}
	if asked.Name == "" {
		return core.Provider{}, core.Model{}, fmt.Errorf("provider %s has no default model in config.yaml: name one with --model", want.Provider)
	}
	return entry, asked, nil
}

func (h *Host) keep(key string, make func() (provider.Model, error)) (provider.Model, error) {
	h.mu.Lock()
	m, ok := h.models[key]
	h.mu.Unlock()
	if ok {
		return m, nil
	}
	m, err := make()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if first, ok := h.models[key]; ok {
		return first, nil
	}
	h.models[key] = m
	return m, nil
}

// connect makes a provider's client. It opens no connection; the key is read when one is needed, so that a rotated key
// is picked up and a missing one is an answer and no start-up failure.
func (h *Host) connect(ctx context.Context, p core.Provider, asked core.Model) (provider.Model, error) {
	var also net.Allowances
	if p.Private {
		own, _ := egress.ParseURL(p.BaseURL) // config.yaml's reader has judged it; nowhere opens nothing
		var err error
		if also, err = net.ParseAllowances(own.Origin()); err != nil {
			return nil, fmt.Errorf("host: provider %s: %w", p.Name, err)
		}
	}
	client, err := h.network.ProviderClient(p.Name, p.BaseURL, also)
	if err != nil {
		return nil, fmt.Errorf("host: provider %s: %w", p.Name, err)
	}
	cfg := provider.Config{
		Kind: provider.Adapter(p.Kind), Model: asked.Name, BaseURL: p.BaseURL,
		ContextWindow: asked.ContextWindow, MaxOutputTokens: asked.MaxOutputTokens, AllowPlainHTTP: p.Private,
		PromptCache: p.Kind == core.KindAnthropic, // a turn sends the same beginning again with every step
	}
	if !p.Key.Zero() {
		cfg.APIKey = func(ctx context.Context) (string, error) { return h.secrets.Read(ctx, p.Key) }
	}
	return open.Model(ctx, cfg, provider.Deps{HTTPClient: client})
}
