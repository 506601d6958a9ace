package provider_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/provider"
)

func key(context.Context) (string, error) { return "k", nil }

func TestConfigurationIsCheckedBeforeUse(t *testing.T) {
	claude := func(change func(*provider.Config)) provider.Config {
		c := provider.Config{Kind: provider.Anthropic, Model: "claude-sonnet-5", APIKey: key}
		change(&c)
		return c
	}
	local := func(change func(*provider.Config)) provider.Config {
		c := provider.Config{Kind: provider.OpenAI, Model: "llama"}
		change(&c)
		return c
	}
	script := func(change func(*provider.Config)) provider.Config {
		c := provider.Config{Kind: provider.Scripted, Script: "x.yaml"}
		change(&c)
		return c
	}
	url := func(u string) func(*provider.Config) { return func(c *provider.Config) { c.BaseURL = u } }
	for name, c := range map[string]struct {
		cfg   provider.Config
		field string // empty means valid
	}{
		"claude":              {claude(func(*provider.Config) {}), ""},
		"local":               {local(func(*provider.Config) {}), ""},
		"script":              {script(func(*provider.Config) {}), ""},
		"no kind":             {provider.Config{}, "kind"},
		"other kind":          {provider.Config{Kind: "gemini"}, "kind"},
		"no model":            {claude(func(c *provider.Config) { c.Model = "" }), "model"},
		"no key":              {claude(func(c *provider.Config) { c.APIKey = nil }), "api_key"},
		"script for a vendor": {claude(func(c *provider.Config) { c.Script = "x" }), "script"},
		"no script":           {script(func(c *provider.Config) { c.Script = "" }), "script"},
		"script with address": {script(url("https://x")), "base_url"},
		"script with key":     {script(func(c *provider.Config) { c.APIKey = key }), "api_key"},
		"script with model":   {script(func(c *provider.Config) { c.Model = "m" }), "model"},
		"effort for claude":   {claude(func(c *provider.Config) { c.ReasoningEffort = "low" }), "reasoning_effort"},
		"cache for openai":    {local(func(c *provider.Config) { c.PromptCache = true }), "prompt_cache"},
		"negative window":     {claude(func(c *provider.Config) { c.ContextWindow = -1 }), "context_window"},
		"negative output":     {claude(func(c *provider.Config) { c.MaxOutputTokens = -1 }), "max_output_tokens"},
		"output fills window": {local(func(c *provider.Config) { c.ContextWindow, c.MaxOutputTokens = 4096, 4096 }), "max_output_tokens"},
		"script output fills": {script(func(c *provider.Config) { c.ContextWindow, c.MaxOutputTokens = 10, 10 }), "max_output_tokens"},
		"negative idle":       {claude(func(c *provider.Config) { c.IdleTimeout = -time.Second }), "idle_timeout"},
		"https":               {claude(url("https://proxy.example/anthropic")), ""},
		"relative":            {claude(url("proxy.example")), "base_url"},
		"no host":             {claude(url("https:///x")), "base_url"},
		"broken":              {claude(url("https://[::1")), "base_url"},
		"password":            {claude(url("https://u:p@proxy.example")), "base_url"},
		"query":               {claude(url("https://proxy.example?key=1")), "base_url"},
		"fragment":            {claude(url("https://proxy.example#x")), "base_url"},
		"file":                {claude(url("file:///etc/passwd")), "base_url"},
		"short loopback":      {local(url("http://127.1:8080")), "base_url"},
		"decimal loopback":    {local(url("http://2130706433:8080")), "base_url"},
		"mapped loopback":     {local(url("http://[::ffff:127.0.0.1]:8080")), "base_url"},
		"trailing dot":        {claude(url("https://proxy.example.")), "base_url"},
		"backslash":           {claude(url("https://proxy.example\\@evil.example")), "base_url"},
		"dots":                {claude(url("https://proxy.example/a/../b")), "base_url"},
		"empty question":      {claude(url("https://proxy.example?")), "base_url"},
		"clear with key":      {claude(url("http://proxy.example")), "base_url"},
		"clear by address":    {claude(url("http://10.0.0.1:8080")), "base_url"},
		"clear, loopback":     {claude(url("http://127.0.0.1:8080")), ""},
		"clear, loopback v6":  {claude(url("http://[::1]:8080")), ""},
		"clear, localhost":    {claude(url("http://localhost:8080")), ""},
		"clear, no key":       {local(url("http://10.0.0.1:8080")), ""},
		"clear, allowed":      {claude(func(c *provider.Config) { c.BaseURL, c.AllowPlainHTTP = "http://10.0.0.1", true }), ""},
	} {
		err := c.cfg.Validate()
		var e *provider.ConfigError
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.field != "" && (!errors.As(err, &e) || e.Field != c.field || e.Sentence == ""):
			t.Errorf("%s: got %v, want a fault in %s", name, err, c.field)
		}
	}
}

func TestLimitsOfKnownAndUnknownModels(t *testing.T) {
	for model, want := range map[string]provider.Limits{
		"claude-sonnet-5":            {ContextWindow: 1_000_000, MaxOutput: 128_000, Tokenizer: provider.TokenizerEstimate, SafetyMargin: 100_000},
		"claude-opus-4-1-20250805":   {ContextWindow: 200_000, MaxOutput: 32_000, Tokenizer: provider.TokenizerEstimate, SafetyMargin: 20_000},
		"anthropic/claude-haiku-4-5": {ContextWindow: 200_000, MaxOutput: 64_000, Tokenizer: provider.TokenizerEstimate, SafetyMargin: 20_000},
		"GPT-4o-mini":                {ContextWindow: 128_000, MaxOutput: 16_384, Tokenizer: provider.TokenizerO200k, SafetyMargin: 2_560},
		"gpt-4o-2024-05-13":          {ContextWindow: 128_000, MaxOutput: 4_096, Tokenizer: provider.TokenizerO200k, SafetyMargin: 2_560},
		"gpt-5-chat-latest":          {ContextWindow: 128_000, MaxOutput: 16_384, Tokenizer: provider.TokenizerO200k, SafetyMargin: 2_560},
		"openai/gpt-5.2-chat-latest": {ContextWindow: 128_000, MaxOutput: 16_384, Tokenizer: provider.TokenizerO200k, SafetyMargin: 2_560},
		"gpt-4-0613":                 {ContextWindow: 8_192, MaxOutput: 4_096, Tokenizer: provider.TokenizerCL100k, SafetyMargin: 163},
		"somebody's model":           {ContextWindow: 8_192, MaxOutput: 2_048, Tokenizer: provider.TokenizerEstimate, SafetyMargin: 819, Assumed: true},
		"":                           {ContextWindow: 8_192, MaxOutput: 2_048, Tokenizer: provider.TokenizerEstimate, SafetyMargin: 819, Assumed: true},
	} {
		if got := provider.LimitsFor(model, 0, 0); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
	if got := provider.LimitsFor("gpt-4o", 32_000, 1_000); got.ContextWindow != 32_000 || got.MaxOutput != 1_000 || got.Tokenizer != provider.TokenizerO200k {
		t.Errorf("overridden: %+v", got)
	}
	if got := provider.LimitsFor("claude-sonnet-5", 32_000, 0); got.MaxOutput != 16_000 {
		t.Errorf("a smaller window leaves room: %+v", got)
	}
}
