package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/egress"
)

// HostFile is the configuration of a home.
const HostFile = "config.yaml"

// Kinds of [Provider], which are the names of the adapters in host/provider.
const (
	KindAnthropic = "anthropic"
	KindOpenAI    = "openai"
)

// HostConfig is config.yaml. What it holds belongs to the caller.
type HostConfig struct {
	DefaultCore string     // core of a run that names none; empty when the file names none
	Providers   []Provider // in the order of the file
	Approval    approval.Rules
	Limits      HostLimits
	Identity    string   // where the identity of secrets.age is: [secret.IdentityFile] or [secret.IdentityKeyring]
	Private     []string // exact origins whose private addresses plugins may reach when everything else allows it
}

// Provider is one way to reach models.
type Provider struct {
	Name    string
	Kind    string // [KindAnthropic] or [KindOpenAI]
	BaseURL string // without a slash at the end; never empty
	Key     secret.Ref
	// Private says that BaseURL may lead to a private address or loopback, and be plain http.
	Private bool
	// Model is what a core gets that leaves something out; its Provider is Name and it has no Script.
	Model Model
}

// HostLimits bound the whole process. None is zero but EffectsPerPlugin.
type HostLimits struct {
	ConcurrentEffects int   // plugin calls that run at once, 1 to 64; further ones wait
	EffectsPerPlugin  int   // of them, those of one plugin, never more than all; 0: three quarters
	PluginMemory      int64 // bytes one plugin call may have at most, whatever its manifest asks for
	TotalMemory       int64 // bytes all running plugin calls may have together
	LoadedPlugins     int64 // bytes of machine code kept in memory between calls
	PluginCache       int64 // bytes the cache folder may have
	CompileTime       time.Duration
	CompileMemory     int64 // bytes
}

// Bounds of [HostLimits].
const (
	MaxConcurrentEffects = 64
	MinPluginMemory      = 16 << 20
	MaxPluginMemory      = 512 << 20
	MinTotalMemory       = 64 << 20
	MaxTotalMemory       = 64 << 30
	MinLoadedPlugins     = 16 << 20
	MaxLoadedPlugins     = 16 << 30
	MinPluginCache       = 64 << 20
	MaxPluginCache       = 1 << 40
	MinCompileTime       = time.Second
	MaxCompileTime       = 10 * time.Minute
	MinCompileMemory     = 256 << 20
	MaxCompileMemory     = 16 << 30
	maxProviders         = 32
	maxPrivate           = 64
)

// DefaultHostLimits are those of a home that sets none.
func DefaultHostLimits() HostLimits {
	return HostLimits{
		ConcurrentEffects: 8, PluginMemory: MaxPluginMemory, TotalMemory: 1 << 30, LoadedPlugins: 96 << 20, PluginCache: 2 << 30,
		CompileTime: 30 * time.Second, CompileMemory: 1 << 30,
	}
}

// LoadHost reads config.yaml of the home. Faults are a [LoadErrors]; any other error is the disk's or ctx's.
func LoadHost(ctx context.Context, home string) (HostConfig, error) {
	if err := ctx.Err(); err != nil {
		return HostConfig{}, fmt.Errorf("core: read %s: %w", HostFile, err)
	}
	root, err := os.OpenRoot(home)
	if errors.Is(err, fs.ErrNotExist) {
		return HostConfig{}, refuse(HostFile, "there is no home at %s; make one with `portcullis init`", home)
	}
	if err != nil {
		return HostConfig{}, fmt.Errorf("core: open the home: %w", err)
	}
	defer root.Close()
	data, err := readPlain(root, HostFile, MaxYAMLBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return HostConfig{}, refuse(HostFile, "is missing; make it with `portcullis init`")
	case errors.Is(err, errNotPlain), errors.Is(err, errTooLarge):
		return HostConfig{}, refuse(HostFile, "%v", err)
	case err != nil:
		return HostConfig{}, fmt.Errorf("core: read %s: %w", HostFile, err)
	}
	return decodeHost(data)
}

// decodeHost reads the text of config.yaml.
func decodeHost(data []byte) (HostConfig, error) {
	r := &reading{path: HostFile}
	c := HostConfig{Limits: DefaultHostLimits(), Identity: secret.IdentityFile, Approval: approval.Rules{File: HostFile}}
	root, ok := r.root(data)
	if !ok {
		return HostConfig{}, r.err()
	}
	r.object(root,
		must("schema_version", r.schemaVersion),
		may("default_core", func(v value) { c.DefaultCore = r.coreID(v) }),
		may("providers", func(v value) { c.Providers = r.providers(v) }),
		may("approval", func(v value) { c.Approval = r.approval(v) }),
		may("limits", func(v value) {
			r.object(v,
				may("concurrent_effects", func(v value) { c.Limits.ConcurrentEffects = int(r.integer(v, 1, MaxConcurrentEffects)) }),
				may("effects_per_plugin", func(v value) { c.Limits.EffectsPerPlugin = int(r.integer(v, 1, MaxConcurrentEffects)) }),
				may("plugin_memory", func(v value) { c.Limits.PluginMemory = r.size(v, MinPluginMemory, MaxPluginMemory) }),
				may("total_memory", func(v value) { c.Limits.TotalMemory = r.size(v, MinTotalMemory, MaxTotalMemory) }),
				may("loaded_plugins", func(v value) { c.Limits.LoadedPlugins = r.size(v, MinLoadedPlugins, MaxLoadedPlugins) }),
				may("plugin_cache", func(v value) { c.Limits.PluginCache = r.size(v, MinPluginCache, MaxPluginCache) }),
				may("compile_time", func(v value) { c.Limits.CompileTime = r.duration(v, MinCompileTime, MaxCompileTime) }),
				may("compile_memory", func(v value) { c.Limits.CompileMemory = r.size(v, MinCompileMemory, MaxCompileMemory) }))
		}),
		may("secrets", func(v value) {
			r.object(v, may("identity", func(v value) {
				if word, ok := r.word(v, secret.IdentityFile, secret.IdentityKeyring); ok {
					c.Identity = word
				}
			}))
		}),
		may("network", func(v value) {
			r.object(v, may("allow_private", func(v value) {
				r.list(v, maxPrivate, func(v value) { c.Private = append(c.Private, r.origin(v)) })
			}))
		}),
	)
	if err := r.err(); err != nil {
		return HostConfig{}, err
	}
	return c, nil
}

func (r *reading) providers(v value) (out []Provider) {
	n := 0
	r.each(v, func(name string, v value) {
		switch n++; {
		case n == maxProviders+1:
			r.fault(v.at, "providers has more than %d entries", maxProviders)
		case n > maxProviders || r.null(v):
		case name == Scripted:
			r.fault(v.at, "scripted needs no entry; a core that wants it writes provider: scripted")
		case !ValidID(name):
			r.fault(v.at, "%s is no name for a provider; write a lower-case letter, then at most 39 lower-case letters, digits or dashes", quote(name))
		default:
			out = append(out, r.provider(name, v))
		}
	})
	return out
}

func (r *reading) provider(name string, v value) Provider {
	p := Provider{Name: name, Model: Model{Provider: name}}
	var keyAt, urlAt, openAt Position
	r.object(v,
		must("kind", func(v value) { p.Kind, _ = r.word(v, KindAnthropic, KindOpenAI) }),
		may("base_url", func(v value) { p.BaseURL, urlAt = r.baseURL(v), r.begin(v.node) }),
		may("api_key", func(v value) { p.Key, keyAt = r.secret(v), r.begin(v.node) }),
		may("allow_private", func(v value) { p.Private, openAt = r.boolean(v), v.at }),
		may("model", func(v value) {
			r.object(v,
				may("name", func(v value) { p.Model.Name, _ = r.text(v, 200) }),
				may("max_output_tokens", func(v value) { p.Model.MaxOutputTokens = int(r.integer(v, 1, 1_000_000)) }),
				may("context_window", func(v value) { p.Model.ContextWindow = int(r.integer(v, 1000, 10_000_000)) }),
				may("temperature", func(v value) { t := r.number(v, 0, 2); p.Model.Temperature = &t }))
		}),
	)
	switch {
	case p.Kind == "": // noted already
	case p.Kind == KindAnthropic && keyAt.Line == 0:
		r.fault(v.at, "%s.api_key is missing; write api_key: env:ANTHROPIC_API_KEY, or file:PATH", v.name)
	case openAt.Line != 0 && p.Private && urlAt.Line == 0:
		r.fault(openAt, "%s.allow_private opens the origin of base_url, which is missing; write it, or remove the line", v.name)
	case strings.HasPrefix(p.BaseURL, "http:") && !p.Private:
		r.fault(urlAt, "%s.base_url is plain http; write https, or add allow_private: true for a server of your own", v.name)
	}
	if urlAt.Line == 0 {
		p.BaseURL = map[string]string{KindAnthropic: "https://api.anthropic.com", KindOpenAI: "https://api.openai.com/v1"}[p.Kind]
	}
	return p
}

// baseURL reads an address without the path of an operation.
func (r *reading) baseURL(v value) string {
	s, ok := r.text(v, egress.MaxURL)
	if !ok {
		return ""
	}
	switch _, verdict := egress.ParseURL(s); {
	case !verdict.Allowed:
		r.fault(r.begin(v.node), "%s is no URL that can be used: %s", v.name, verdict.Sentence)
	case strings.ContainsAny(s, "?#"):
		r.fault(r.begin(v.node), "%s must not have ? or # in it", v.name)
	default:
		return strings.TrimRight(s, "/")
	}
	return ""
}

// origin reads scheme, host and port and nothing else.
func (r *reading) origin(v value) string {
	s, ok := r.text(v, 400)
	if !ok {
		return ""
	}
	t, verdict := egress.ParseURL(s)
	switch {
	case !verdict.Allowed:
		r.fault(r.begin(v.node), "%s is no origin: %s", v.name, verdict.Sentence)
	case t.Path() != "/" || strings.ContainsAny(s, "?#") || strings.HasSuffix(s, "/"):
		r.fault(r.begin(v.node), "%s must be scheme, host and port only, as in http://127.0.0.1:8080", v.name)
	default:
		return t.Origin()
	}
	return ""
}

// Provider returns the entry of that name.
func (c HostConfig) Provider(name string) (Provider, bool) {
	for _, p := range c.Providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}
