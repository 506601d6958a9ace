package effect

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/document"
)

// Origin is which kind of source a tool comes from.
type Origin string

// The origins of the contract.
const (
	Builtin  Origin = "builtin"
	Authored Origin = "authored"
	Bridge   Origin = "bridge"
)

// Tool is what a [Source] offers. The catalog copies it.
type Tool struct {
	Name         string // "calc.eval"
	Description  string
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage // empty: any JSON value
	Needs        []capability.Name
	// Secrets names the secrets that one call's arguments ask for, beside those in Needs: the call needs
	// secret.bind:<NAME> for each, as if Needs listed it. nil: none.
	Secrets func(arguments document.Document) []string
	// Stands is what an open need (some host) most likely stands for in a call with these arguments; false when that cannot
	// be told. It words a denial for the operator, who has to name the host, and decides nothing. nil: it cannot be told.
	Stands func(need capability.Name, arguments document.Document) (capability.Name, bool)
	// Asks names the capabilities that one call needs because of its arguments, beside those in Needs. nil: none.
	Asks        func(arguments document.Document) []string
	Risk        approval.Risk
	Approval    approval.Mode // the tool's own policy; core and host rules can only make it stricter
	Recovery    string        // "read", "idempotent", "reconcile" or "manual"
	Origin      Origin
	Provenance  string            // where it stands, for people: "authored:calc@1.0.0"
	Plugin      string            // plugin id; empty for a builtin, which needs no operator grant
	Version     string            // plugin version
	PluginNeeds []capability.Name // what the plugin's module needs to be loaded at all, whatever the tool
	Files       bool              // whether the call touches the workspace
	Timeout     time.Duration     // longest run; 0: the turn's limit
	OwnTime     bool              // Timeout stands in for the turn's limit on one effect: what runs in the call is bounded by itself
	Output      int               // longest result in bytes; 0: the turn's limit
	Adapter     Adapter
}

// label is the plugin with its version, or empty.
func (t Tool) label() string {
	if t.Plugin == "" {
		return ""
	}
	return t.Plugin + "@" + t.Version
}

// pin is a digest over what the tool says of itself and where it comes from: a tool that changes any of it is not the tool
// that somebody allowed, whatever it is called.
func (t Tool) pin() string {
	h := sha256.New()
	for _, part := range []string{
		t.Name, t.Description, string(t.InputSchema), string(t.OutputSchema), t.Recovery, string(t.Origin), t.Provenance, t.Plugin, t.Version,
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Entry is the tool as the approval rules see it.
func (t Tool) Entry() approval.Entry { return t.entry(t.Needs) }

// entry is the tool as the approval rules see one call of it.
func (t Tool) entry(needs []capability.Name) approval.Entry {
	return approval.Entry{Tool: t.Name, Capabilities: slices.Clone(needs), Risk: t.Risk, Mode: t.Approval}
}

// Definition is a tool as a model is shown it.
type Definition struct {
	Name        string
	Description string
	InputSchema json.RawMessage
}
