package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Run runs one case on one engine, in a world laid out in dir, which must be
// empty, and lists how the answer and the world differ from what the case
// expects. No differences means that the case holds. An error means that it
// could not be run.
func Run(ctx context.Context, on Engine, m *manifest.Manifest, c *Case, dir string) (differences []string, err error) {
	tool, ok := m.Tool(c.Tool)
	if !ok {
		return nil, fmt.Errorf("conformance: plugin %s has no tool %s", m.ID, c.Tool)
	}
	w, err := NewWorld(c, dir)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	input, err := json.Marshal(wire.Call{ID: "eff_conformance", Tool: c.Tool, Args: c.Args})
	if err != nil {
		return nil, fmt.Errorf("conformance: encode call: %w", err)
	}
	a, err := on.Call(ctx, wire.ExportInvoke, input, w.Options(c, tool))
	if err != nil {
		return nil, err
	}
	return append(c.compare(a), w.After(c)...), nil
}

// compare holds an answer against the case.
func (c *Case) compare(a Answer) []string {
	differ := func(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }
	if a.Broken != "" {
		return differ("the guest did not come back: %s", a.Broken)
	}
	if a.Error != "" {
		return differ("the guest failed: %s", a.Error)
	}
	var r struct {
		Result jsontext.Value `json:"result"`
		Fault  *wire.Fault    `json:"fault"`
	}
	if err := strict.Unmarshal(a.Output, &r, strict.RejectUnknownMembers(true)); err != nil {
		return differ("the reply is not one: %v", err)
	}
	if err := (wire.Reply{Result: json.RawMessage(r.Result), Fault: r.Fault}).Check(); err != nil {
		return differ("%v", err)
	}
	switch {
	case c.Fault == nil && r.Fault != nil:
		return differ("fault %s (%s), want the result %s", r.Fault.Code, r.Fault.Message, c.Result)
	case c.Fault != nil && r.Fault == nil:
		return differ("result %s, want the fault %s", r.Result, c.Fault.Code)
	case c.Fault != nil && (r.Fault.Code != c.Fault.Code || c.Fault.Message != "" && r.Fault.Message != c.Fault.Message):
		return differ("fault %s (%s), want %s (%s)", r.Fault.Code, r.Fault.Message, c.Fault.Code, c.Fault.Message)
	case c.Fault == nil && !sameJSON(r.Result, jsontext.Value(c.Result)):
		return differ("result %s, want %s", r.Result, c.Result)
	}
	return nil
}

// sameJSON compares two values in the canonical form of RFC 8785.
func sameJSON(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
