package effect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Setup is what the pinned core and the host bring to one turn's catalog.
type Setup struct {
	Sources   []Source
	Policies  []approval.Policy // the core's and the host's; the stricter wins
	Approvers []string          // principals who may decide what a person must allow, beside the operator; none: the turn's own
	Known     redact.Set        // values that no view may show, known before the turn
	Timeout   time.Duration     // longest run of one effect; 0: [DefaultTimeout]
	Output    int               // most bytes of one result that the model gets; 0: [DefaultOutput]

	// granted is what plugins had been granted when the turn that this one works for began; nil: it works for nobody.
	granted map[string]capability.Snapshot
}

// Defaults and ceilings of one effect.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 10 * time.Minute
	DefaultOutput  = 64 << 10
	MaxOutput      = 4 << 20 // of a raw result, whatever a tool or a core says
	maxTools       = 2000
)

// Catalog is the frozen set of tools that one turn may use. It is safe for concurrent use.
type Catalog struct {
	turn    binding.Turn
	setup   Setup
	entries map[string]*entry
	order   []string
	bounds  redact.Bounds
	rules   func() string // fingerprint of the setup's policies
	closed  atomic.Bool
	schemas *schemas // where compiled schemas come from

	mu    sync.Mutex // guards known and taken
	known redact.Set // grows: a secret found in one call is hidden in every later one of the turn
	taken []taken    // to be given back
}

// taken is a compiled schema with its document.
type taken struct {
	raw []byte
	one *Schema
}

// entry is one resolved tool. Definitions, approval, checks and dispatch all read this one value.
type entry struct {
	tool   Tool
	grants capability.Snapshot // what the operator had granted the plugin when the turn began
	input  func() (*Schema, error)
	output func() (*Schema, error)
	label  string                 // plugin with version, or empty
	pin    func() string          // digest of the tool as it was described
	ruled  atomic.Pointer[ruling] // what policy said of it
}

// Ref is an opaque reference to one tool of one catalog. The zero Ref refers to nothing.
type Ref struct {
	catalog *Catalog
	entry   *entry
}

// Tool is the referenced tool's name, or empty.
func (r Ref) Tool() string {
	if r.entry == nil {
		return ""
	}
	return r.entry.tool.Name
}

// ClashError reports two sources that offer one name. Neither is preferred: the turn does not start.
type ClashError struct {
	Name          string
	First, Second string // provenances
}

// Error names both provenances and what to do.
func (e *ClashError) Error() string {
	return fmt.Sprintf("two tools are called %s, one of %s and one of %s: take one of them out of the core's agent.yaml", e.Name, e.First, e.Second)
}

// ToolError reports a tool that cannot stand in a catalog.
type ToolError struct{ Name, Provenance, Why string }

// Error names the tool, where it comes from and what is wrong with it.
func (e *ToolError) Error() string {
	return fmt.Sprintf("tool %q of %s: %s", e.Name, e.Provenance, e.Why)
}

// Prepare freezes the tools of one turn. No grant that comes later widens it; one that is taken back is missed by the next
// call. A name clash is a [*ClashError].
func (r *Runtime) Prepare(ctx context.Context, turn binding.Turn, setup Setup) (*Catalog, error) {
	if turn.Zero() {
		return nil, fmt.Errorf("effect: prepare catalog: no turn binding")
	}
	c := &Catalog{turn: turn, setup: setup, entries: map[string]*entry{}, known: setup.Known, bounds: viewBounds(setup.Output), schemas: &r.schemas}
	c.rules = sync.OnceValue(func() string { return approval.PolicyFingerprint(setup.Policies...) })
	grants := map[string]capability.Snapshot{}
	for _, src := range setup.Sources {
		tools, err := src.Tools(ctx, turn)
		if err != nil {
			return nil, fmt.Errorf("effect: prepare catalog: %w", err)
		}
		for _, t := range tools {
			if _, ok := grants[t.Plugin]; !ok && t.Plugin != "" {
				if grants[t.Plugin], err = r.grants.PluginGrants(ctx, t.Plugin); err != nil {
					return nil, fmt.Errorf("effect: read grants of %s: %w", t.Plugin, err)
				}
				if setup.granted != nil {
					grants[t.Plugin] = setup.granted[t.Plugin].Still(grants[t.Plugin])
				}
			}
			if err := c.add(t, grants[t.Plugin]); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(c.order)
	return c, nil
}

func (c *Catalog) add(t Tool, grants capability.Snapshot) error {
	if have, ok := c.entries[t.Name]; ok {
		return &ClashError{t.Name, have.tool.Provenance, t.Provenance}
	}
	if len(c.order) >= maxTools {
		return &ToolError{t.Name, t.Provenance, fmt.Sprintf("is one over the limit of %d tools", maxTools)}
	}
	if t.Name == "" || t.Adapter == nil || len(t.InputSchema) == 0 {
		return &ToolError{t.Name, t.Provenance, "has no name, adapter or input schema"}
	}
	t.InputSchema, t.OutputSchema = bytes.Clone(t.InputSchema), bytes.Clone(t.OutputSchema)
	t.Needs, t.PluginNeeds = slices.Clone(t.Needs), slices.Clone(t.PluginNeeds)
	if !t.OwnTime {
		t.Timeout = within(t.Timeout, c.setup.Timeout)
	}
	if t.Output <= 0 || t.Output > MaxOutput {
		t.Output = MaxOutput
	}
	c.entries[t.Name] = &entry{
		tool: t, grants: grants, label: t.label(),
		input:  sync.OnceValues(func() (*Schema, error) { return c.compiled(t.InputSchema) }),
		output: sync.OnceValues(func() (*Schema, error) { return c.compiled(t.OutputSchema) }),
		pin:    sync.OnceValue(t.pin),
	}
	c.order = append(c.order, t.Name)
	return nil
}

// within is the effect's deadline: the tool's own and the turn's, the smaller of those that are set.
func within(own, turn time.Duration) time.Duration {
	limit := turn
	if limit <= 0 {
		limit = DefaultTimeout
	}
	if own > 0 {
		limit = min(limit, own)
	}
	return min(limit, MaxTimeout)
}

// viewBounds are the bounds of results: the model's by the core's limit, in one string or in many, the rest as they
// are everywhere.
func viewBounds(output int) redact.Bounds {
	if output <= 0 {
		output = DefaultOutput
	}
	output = max(min(output, MaxOutput), redact.MinBytes)
	b := redact.DefaultBounds()
	b.Model = redact.Limit{Bytes: output, String: output, Items: 10_000, Depth: MaxArgumentDepth}
	return b
}

// compiled is the schema of a document, nil of none.
func (c *Catalog) compiled(raw []byte) (*Schema, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	one, err := c.schemas.take(raw)
	if err == nil {
		c.mu.Lock()
		c.taken = append(c.taken, taken{raw, one})
		c.mu.Unlock()
	}
	return one, err
}

// delegates is what the catalog was made of, for a turn that works for this one: with what plugins had been granted then.
func (c *Catalog) delegates() Setup {
	out := c.setup
	out.granted = make(map[string]capability.Snapshot)
	for _, e := range c.entries {
		if e.tool.Plugin != "" {
			out.granted[e.tool.Plugin] = e.grants
		}
	}
	return out
}

// Definitions are the tools as a model is shown them, sorted by name. The slices are the caller's own.
func (c *Catalog) Definitions() []Definition {
	defs := make([]Definition, 0, len(c.order))
	for _, name := range c.order {
		t := c.entries[name].tool
		defs = append(defs, Definition{t.Name, t.Description, bytes.Clone(t.InputSchema)})
	}
	return defs
}

// Resolve returns the reference of a tool that the turn may name; false for every other name.
func (c *Catalog) Resolve(name string) (Ref, bool) {
	e, ok := c.entries[name]
	if !ok || c.closed.Load() {
		return Ref{}, false
	}
	return Ref{c, e}, true
}

// Redactor is the turn's set of known secrets as it stands.
func (c *Catalog) Redactor() redact.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// views builds views of raw, the five or those wanted, and keeps what was discovered in it for the rest of the turn.
func (c *Catalog) views(bounds redact.Bounds, raw redact.Raw, wanted ...redact.Audience) (redact.Views, error) {
	if len(wanted) == 0 {
		wanted = []redact.Audience{redact.ForModel, redact.ForOperator, redact.ForEvent, redact.ForDurable, redact.ForDebug}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := redact.BuildFor(c.known, bounds, raw, wanted...)
	if err == nil {
		c.known = v.Set()
	}
	return v, err
}

// hide adds a bound secret to what the turn hides.
func (c *Catalog) hide(name, value string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	more, err := c.known.With(redact.NewSecret(name, value))
	if err != nil {
		return err
	}
	c.known = more
	return nil
}

// Replay is a model's own arguments as they are stored and shown to a model again: in the model view, always one JSON
// document. What they give away is hidden for the rest of the turn.
func (c *Catalog) Replay(arguments []byte) json.RawMessage {
	b := redact.DefaultBounds()
	b.Model = redact.Limit{Bytes: MaxArgumentBytes, String: MaxArgumentBytes, Items: MaxArgumentBytes, Depth: MaxArgumentDepth}
	v, err := c.views(b, redact.JSON(arguments), redact.ForModel)
	if err != nil {
		return json.RawMessage(`{"arguments":"` + redact.FailedText + `"}`)
	}
	return v.Model.JSON()
}

// Shown is a JSON document in the operator view, for a screen.
func (c *Catalog) Shown(doc []byte) string {
	v, err := redact.Build(c.Redactor(), redact.DefaultBounds(), redact.JSON(doc))
	if err != nil {
		v, _ = redact.Build(c.Redactor(), redact.DefaultBounds(), redact.Text(string(doc)))
	}
	return v.Operator.String()
}

// Close ends the catalog: its references resolve and run no more. It may be called again.
func (c *Catalog) Close() {
	c.closed.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.taken {
		c.schemas.give(t.raw, t.one)
	}
	c.taken = nil
}
