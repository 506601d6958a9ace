package anthropic

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/b3abf3ee/portcullis/host/provider"
	"github.com/b3abf3ee/portcullis/host/provider/internal/exchange"
)

// DefaultBaseURL is used when the configuration names none.
const DefaultBaseURL = "https://api.anthropic.com"

// Model is a [provider.Model] over Anthropic Messages.
type Model struct {
	cfg    provider.Config
	caps   provider.Caps
	limits provider.Limits
	http   *http.Client
	client sdk.Client
	now    func() time.Time
}

// New returns a model. It opens no connection. The error is a [*provider.ConfigError].
func New(cfg provider.Config, deps provider.Deps) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Kind != provider.Anthropic {
		return nil, &provider.ConfigError{Field: "kind", Sentence: "must be anthropic here"}
	}
	if deps.HTTPClient == nil {
		return nil, &provider.ConfigError{Field: "kind", Sentence: "anthropic needs an HTTP client from the host"}
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = provider.DefaultIdleTimeout
	}
	if deps.Clock == nil {
		deps.Clock = provider.SystemClock{}
	}
	return &Model{
		cfg:    cfg,
		caps:   cfg.Caps.WithDefaults(),
		limits: provider.LimitsFor(cfg.Model, cfg.ContextWindow, cfg.MaxOutputTokens),
		http:   exchange.Client(deps.HTTPClient),
		now:    deps.Clock.Now,
		client: sdk.NewClient(
			// Without this the library reads keys, addresses, profiles and headers
			// from the environment and from files in the home directory.
			option.WithoutEnvironmentDefaults(),
			option.WithBaseURL(cfg.BaseURL),
			option.WithMaxRetries(0),
			option.WithoutOpenTelemetry(),
			option.WithOpenTelemetryPropagation(false),
		),
	}, nil
}

// Limits returns the limits of the configured model.
func (m *Model) Limits() provider.Limits { return m.limits }

// Name returns anthropic/ and the model id.
func (m *Model) Name() string { return string(provider.Anthropic) + "/" + m.cfg.Model }

// Generate sends one request; see [provider.Model].
func (m *Model) Generate(ctx context.Context, req provider.Request, events func(provider.Event)) (provider.Response, error) {
	if err := req.Validate(); err != nil {
		return provider.Response{}, err
	}
	req = req.Clone()
	if req.Model == "" {
		req.Model = m.cfg.Model
	}
	if req.MaxOutputTokens == 0 {
		req.MaxOutputTokens = m.limits.MaxOutput
	}
	key, err := exchange.Key(ctx, provider.Anthropic, m.cfg.APIKey)
	if err != nil {
		return provider.Response{}, err
	}
	call := exchange.New(m.http, exchange.Options{
		Adapter: provider.Anthropic, Caps: m.caps, Idle: m.cfg.IdleTimeout, Secret: key, Now: m.now,
	})
	defer call.Close()
	stream := m.client.Messages.NewStreaming(ctx, m.params(req), option.WithAPIKey(key), option.WithHTTPClient(call))
	reader := reader{out: provider.NewAssembler(req, m.caps, events), call: call}
	resp, err := reader.drain(stream)
	if err != nil {
		return provider.Response{}, explain(ctx, call, err)
	}
	return resp, nil
}
