package core

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// SchemaVersion is the only schema_version that is read, of agent.yaml and of config.yaml.
const SchemaVersion = 1

// Names of a core's files.
const (
	// FolderName is where cores live below the home.
	FolderName = "cores"
	// AgentFile is the manifest of a core.
	AgentFile = "agent.yaml"
	// SurfaceFolder holds everything else of a core.
	SurfaceFolder = "agent"
	// SoulFile is the system prompt, in [SurfaceFolder].
	SoulFile = "soul.md"
)

// Scripted is the provider that needs no entry in config.yaml: it answers from a script in the core itself.
const Scripted = "scripted"

// Model is what a core asks a provider for. Zero numbers leave the choice to the provider's entry in config.yaml
// and then to what is known of the model.
type Model struct {
	Provider        string // a name below providers in config.yaml, or [Scripted]
	Name            string // the provider's id of the model; empty: the provider's default
	MaxOutputTokens int
	ContextWindow   int      // tokens
	Temperature     *float64 // 0 to 2; nil leaves it to the provider
	Script          string   // path below agent/, of a scripted model
}

// Pin is one plugin that a core uses: exactly this version with exactly this content.
type Pin struct {
	ID      string
	Version string
	Digest  string // "sha256:<hex>", as `portcullis plugin list` shows it
}

// Bounds of [Limits].
const (
	MaxSteps      = 90
	MinTimeout    = time.Second
	MaxTurn       = time.Hour
	MaxEffect     = 10 * time.Minute
	MinOutput     = 1 << 10
	MaxOutput     = 4 << 20
	maxPlugins    = 64
	maxGrants     = 128
	maxEgress     = 64
	maxRules      = 256
	maxPathLength = 1024
)

// Limits bound one turn of a core. None is zero.
type Limits struct {
	MaxSteps      int           // model calls in one turn, 1 to [MaxSteps]
	TurnTimeout   time.Duration // of a turn, waiting for people included
	EffectTimeout time.Duration // of one effect, waiting for people not included
	OutputBytes   int           // of one tool result as the model gets it
}

// DefaultLimits are those of a core that sets none.
func DefaultLimits() Limits {
	return Limits{MaxSteps: MaxSteps, TurnTimeout: 10 * time.Minute, EffectTimeout: time.Minute, OutputBytes: 64 << 10}
}

// agent is agent.yaml, decoded.
type agent struct {
	id, summary string
	model       Model
	modelAt     Position // of model.provider
	plugins     []Pin
	grants      []capability.Grant
	egress      []egress.Rule
	narrows     bool // egress is there, be it empty
	approval    approval.Rules
	limits      Limits
	process     Process
	processAt   Position // zero when the section is not there
	workspace   string   // as written
	workspaceAt Position
}

// decodeAgent reads one agent.yaml. path is for messages. Faults are a [LoadErrors].
func decodeAgent(path string, data []byte) (agent, error) {
	r := &reading{path: path}
	a := agent{limits: DefaultLimits(), approval: approval.Rules{File: path}}
	root, ok := r.root(data)
	if !ok {
		return agent{}, r.err()
	}
	r.object(root,
		must("schema_version", r.schemaVersion),
		must("agent", func(v value) {
			r.object(v,
				must("id", func(v value) { a.id = r.coreID(v) }),
				may("summary", func(v value) { a.summary, _ = r.text(v, 400) }))
		}),
		must("model", func(v value) { r.model(v, &a) }),
		may("plugins", func(v value) { a.plugins = r.plugins(v) }),
		may("capabilities", func(v value) { a.grants = r.grants(v) }),
		may("egress", func(v value) { a.egress, a.narrows = r.egress(v), true }),
		may("approval", func(v value) { a.approval = r.approval(v) }),
		may("limits", func(v value) { r.limits(v, &a.limits) }),
		may("process", func(v value) { a.process, a.processAt = r.process(v), v.at }),
		may("workspace", func(v value) { a.workspace, a.workspaceAt = r.folder(v), r.begin(v.node) }),
	)
	r.fits(&a)
	if err := r.err(); err != nil {
		return agent{}, err
	}
	return a, nil
}

// fits holds the process section against the others: what nothing enforces is not a key.
func (r *reading) fits(a *agent) {
	need, err := capability.Parse("process.exec")
	switch {
	case a.processAt.Line == 0 || len(r.faults) > 0 || err != nil:
	case !capability.NewSnapshot(a.grants...).Allows(need):
		r.fault(a.processAt, "process is of no use without the capability: add process.exec to capabilities, or remove the section")
	case a.process.Timeout > a.limits.EffectTimeout:
		r.fault(a.processAt, "process.timeout (%s) is longer than limits.effect_timeout (%s), which ends every call; make it shorter", a.process.Timeout, a.limits.EffectTimeout)
	}
}

func (r *reading) schemaVersion(v value) {
	if before := len(r.faults); r.integer(v, 1, 1<<31) != SchemaVersion && len(r.faults) == before {
		r.fault(r.begin(v.node), "%s must be %d: this program reads no other", v.name, SchemaVersion)
	}
}

func (r *reading) coreID(v value) string {
	s, ok := r.text(v, 64)
	if ok && !ValidID(s) {
		r.fault(r.begin(v.node), "%s is %s; write a lower-case letter, then at most 39 lower-case letters, digits or dashes", v.name, quote(s))
	}
	return s
}

// ValidID reports whether s can be the id of a core: ^[a-z][a-z0-9-]{0,39}$, which is also a folder's name on every
// system.
func ValidID(s string) bool { return wire.ValidPluginID(s) }

func (r *reading) model(v value, a *agent) {
	m := &a.model
	var scriptAt, nameAt Position
	r.object(v,
		must("provider", func(v value) { m.Provider, a.modelAt = r.providerName(v), r.begin(v.node) }),
		may("name", func(v value) { m.Name, _ = r.text(v, 200); nameAt = r.begin(v.node) }),
		may("max_output_tokens", func(v value) { m.MaxOutputTokens = int(r.integer(v, 1, 1_000_000)) }),
		may("context_window", func(v value) { m.ContextWindow = int(r.integer(v, 1000, 10_000_000)) }),
		may("temperature", func(v value) { t := r.number(v, 0, 2); m.Temperature = &t }),
		may("script", func(v value) { m.Script, scriptAt = r.script(v), r.begin(v.node) }),
	)
	switch scripted := m.Provider == Scripted; {
	case m.Provider == "":
	case scripted && scriptAt.Line == 0:
		r.fault(a.modelAt, "a scripted model needs a script: add script: script.yaml, a file in %s/", SurfaceFolder)
	case scripted && nameAt.Line != 0:
		r.fault(nameAt, "a scripted model has no name; remove the line")
	case scripted && m.Temperature != nil:
		r.fault(a.modelAt, "a scripted model has no temperature; remove the line")
	case !scripted && scriptAt.Line != 0:
		r.fault(scriptAt, "only a model with provider: scripted has a script; remove the line")
	}
}

// providerName is a name that config.yaml gives to a provider.
func (r *reading) providerName(v value) string {
	s, ok := r.text(v, 64)
	if ok && !ValidID(s) {
		r.fault(r.begin(v.node), "%s is %s; write a name below providers in config.yaml, or scripted", v.name, quote(s))
		return ""
	}
	return s
}

func (r *reading) script(v value) string {
	s, ok := r.text(v, maxPathLength)
	if ext := path.Ext(s); ok && (ext != ".yaml" && ext != ".json" || checkTreeName(SurfaceFolder+"/"+s) != "") {
		r.fault(r.begin(v.node), "%s is %s; write the path of a .yaml or .json file below %s/, as in script.yaml", v.name, quote(s), SurfaceFolder)
		return ""
	}
	return s
}

func (r *reading) plugins(v value) (out []Pin) {
	r.list(v, maxPlugins, func(v value) {
		var p Pin
		r.object(v,
			must("id", func(v value) {
				if p.ID, _ = r.text(v, 64); p.ID != "" && !wire.ValidPluginID(p.ID) {
					r.fault(r.begin(v.node), "%s is %s, which is no plugin id; see `portcullis plugin list`", v.name, quote(p.ID))
				}
			}),
			must("version", func(v value) {
				if p.Version, _ = r.text(v, 64); p.Version != "" && !wire.ValidVersion(p.Version) {
					r.fault(r.begin(v.node), "%s is %s, which is no version such as 1.2.3; see `portcullis plugin list`", v.name, quote(p.Version))
				}
			}),
			must("digest", func(v value) {
				if p.Digest, _ = r.text(v, 80); p.Digest != "" && !validDigest(p.Digest) {
					r.fault(r.begin(v.node), "%s must be sha256: and 64 lower-case hex digits, as `portcullis plugin list` shows it", v.name)
				}
			}),
		)
		if slices.ContainsFunc(out, func(o Pin) bool { return o.ID == p.ID && p.ID != "" }) {
			r.fault(v.at, "plugin %s is there already; a core has one version of it", quote(p.ID))
		}
		out = append(out, p)
	})
	return out
}

func validDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

func (r *reading) grants(v value) (out []capability.Grant) {
	r.list(v, maxGrants, func(v value) {
		s, ok := r.text(v, 400)
		if !ok {
			return
		}
		g, err := capability.ParseGrant(s)
		switch {
		case err != nil:
			r.fault(v.at, "%v", err)
		case slices.Contains(out, g):
			r.fault(v.at, "%s is there already; remove one", g)
		default:
			out = append(out, g)
		}
	})
	return out
}

// folder reads a path of the operator's machine; what it leads to is not looked at here.
func (r *reading) folder(v value) string {
	s, ok := r.text(v, maxPathLength)
	switch {
	case !ok:
	case strings.HasPrefix(s, "~") || strings.Contains(s, "$"):
		r.fault(r.begin(v.node), "%s is not expanded: write the path from / on, or a folder below the home", v.name)
	case slices.Contains(strings.Split(strings.ReplaceAll(s, `\`, "/"), "/"), ".."):
		r.fault(r.begin(v.node), "%s has .. in it: write where it really is", v.name)
	case strings.ContainsAny(s, "\n\t"):
		r.fault(r.begin(v.node), "%s has a line break or tab in it", v.name)
	default:
		return s
	}
	return ""
}

func (r *reading) limits(v value, l *Limits) {
	before := len(r.faults)
	r.object(v,
		may("max_steps", func(v value) { l.MaxSteps = int(r.integer(v, 1, MaxSteps)) }),
		may("turn_timeout", func(v value) { l.TurnTimeout = r.duration(v, MinTimeout, MaxTurn) }),
		may("effect_timeout", func(v value) { l.EffectTimeout = r.duration(v, MinTimeout, MaxEffect) }),
		may("output_bytes", func(v value) { l.OutputBytes = int(r.size(v, MinOutput, MaxOutput)) }),
	)
	if l.EffectTimeout > l.TurnTimeout && len(r.faults) == before {
		r.fault(v.at, "limits.effect_timeout (%s) is longer than limits.turn_timeout (%s); make it shorter", l.EffectTimeout, l.TurnTimeout)
	}
}
