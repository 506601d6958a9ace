package provider

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// Adapter names a way to reach a model.
type Adapter string

// The adapters.
const (
	Scripted  Adapter = "scripted"  // a script file, no network
	Anthropic Adapter = "anthropic" // Anthropic Messages
	OpenAI    Adapter = "openai"    // OpenAI Chat Completions and servers compatible with it
)

// Config says which model to use and how. [Config.Validate] refuses members
// that the chosen adapter would ignore.
type Config struct {
	Kind Adapter
	// Model is the vendor's model id. Required for anthropic and openai.
	Model string
	// BaseURL replaces the vendor's address, without the path of the operation:
	// https://api.anthropic.com, https://api.openai.com/v1.
	BaseURL string
	// APIKey is asked before every attempt, so a rotated key is picked up; it must
	// return quickly and honour ctx. Required for anthropic; for openai nil means
	// that no Authorization header is sent (local servers). The environment is
	// never read: a caller that wants it there reads it in this function.
	APIKey func(ctx context.Context) (string, error)
	// Script is the path of the script file. Required for scripted only.
	Script string
	// ContextWindow and MaxOutputTokens override the limits known for the model.
	ContextWindow   int
	MaxOutputTokens int
	// ReasoningEffort is passed to an openai server as it is; empty leaves it to
	// the server. Refused for the other adapters.
	ReasoningEffort string
	// PromptCache asks Anthropic to cache the prompt up to the last message.
	// OpenAI caches by itself. Refused for the other adapters.
	PromptCache bool
	// AllowPlainHTTP permits http:// to a machine other than this one with a key.
	AllowPlainHTTP bool
	// IdleTimeout ends a call on which no byte has arrived for that long; 0 means
	// five minutes, since a model may think that long before its first word. The
	// length of the whole call is bounded by the caller's context.
	IdleTimeout time.Duration
	Caps        Caps
	Retry       RetryPolicy
}

// Deps are what the host lends a model.
type Deps struct {
	// HTTPClient carries the host's URL policy. Required by anthropic and openai.
	// It is copied: redirects are never followed, whatever it says about them.
	HTTPClient *http.Client
	// Clock is the time; nil means [SystemClock].
	Clock Clock
	// Random yields values in [0, 1) for jitter; nil means math/rand.
	Random func() float64
}

// DefaultIdleTimeout is the idle timeout of a zero [Config].
const DefaultIdleTimeout = 5 * time.Minute

// ConfigError says which member of a [Config] is wrong.
type ConfigError struct {
	Field    string // as written in config.yaml
	Sentence string
}

// Error returns the member and the sentence.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("model configuration: %s: %s", e.Field, e.Sentence)
}

// Validate returns a [*ConfigError] for the first wrong member, or nil.
func (c Config) Validate() error {
	switch c.Kind {
	case Scripted:
		return c.validateScripted()
	case Anthropic, OpenAI:
		return c.validateVendor()
	case "":
		return wrong("kind", "is missing: write scripted, anthropic or openai")
	default:
		return wrong("kind", "%q is not known: write scripted, anthropic or openai", c.Kind)
	}
}

func (c Config) validateScripted() error {
	switch {
	case c.Script == "":
		return wrong("script", "is missing: name the script file")
	case c.BaseURL != "":
		return wrong("base_url", "has no meaning for a scripted model: remove it")
	case c.APIKey != nil:
		return wrong("api_key", "has no meaning for a scripted model: remove it")
	case c.Model != "":
		return wrong("model", "has no meaning for a scripted model: name it in the script")
	}
	return c.validateCommon()
}

func (c Config) validateVendor() error {
	switch {
	case c.Model == "":
		return wrong("model", "is missing: name the vendor's model id")
	case c.Script != "":
		return wrong("script", "needs kind: scripted")
	case c.Kind == Anthropic && c.APIKey == nil:
		return wrong("api_key", "is missing: Anthropic answers nobody without a key")
	}
	if err := c.validateAddress(); err != nil {
		return err
	}
	return c.validateCommon()
}

func (c Config) validateCommon() error {
	switch {
	case c.ContextWindow < 0:
		return wrong("context_window", "is %d: it must not be negative", c.ContextWindow)
	case c.MaxOutputTokens < 0:
		return wrong("max_output_tokens", "is %d: it must not be negative", c.MaxOutputTokens)
	case c.ReasoningEffort != "" && c.Kind != OpenAI:
		return wrong("reasoning_effort", "needs kind: openai")
	case c.PromptCache && c.Kind != Anthropic:
		return wrong("prompt_cache", "needs kind: anthropic")
	case c.IdleTimeout < 0:
		return wrong("idle_timeout", "is %s: it must not be negative", c.IdleTimeout)
	}
	if c.Kind != Scripted || c.ContextWindow > 0 {
		if l := LimitsFor(c.Model, c.ContextWindow, c.MaxOutputTokens); l.MaxOutput >= l.ContextWindow {
			return wrong("max_output_tokens", "is %d but the context window is %d: no room is left for a prompt", l.MaxOutput, l.ContextWindow)
		}
	}
	return nil
}

func (c Config) validateAddress() error {
	if c.BaseURL == "" {
		return nil
	}
	t, v := egress.ParseURL(c.BaseURL)
	switch {
	case v.Reason == egress.UnsupportedScheme:
		return wrong("base_url", "must begin with https:// (or http:// for this machine)")
	case v.Reason == egress.Userinfo:
		return wrong("base_url", "holds a user name or password: use api_key instead")
	case !v.Allowed:
		return wrong("base_url", "is no URL that can be used: %s", v.Sentence)
	case strings.ContainsAny(c.BaseURL, "?#"):
		return wrong("base_url", "must not hold ? or #")
	case t.Scheme() == "http" && c.APIKey != nil && !c.AllowPlainHTTP && !loopback(t):
		return wrong("base_url", "would send the key in the clear to %s: use https://, or set allow_plain_http", t.Host())
	}
	return nil
}

func loopback(t egress.Target) bool {
	ip, literal := t.Address()
	return literal && ip.IsLoopback() || t.Host() == "localhost"
}

func wrong(field, format string, args ...any) *ConfigError {
	return &ConfigError{Field: field, Sentence: fmt.Sprintf(format, args...)}
}
