package manifest

import "github.com/b3abf3ee/portcullis/sdk/wire"

// Version is the only manifest_version this package reads and writes.
const Version = 1

// FileName is the name of the manifest in a plugin's folder.
const FileName = "plugin.json"

// Bounds of one manifest.
const (
	MaxBytes        = 1 << 20  // of the file
	MaxWasmBytes    = 64 << 20 // of the binary it names
	MaxSchemaBytes  = 64 << 10 // of one schema
	MaxTools        = 128      // count, as are the next six
	MaxCapabilities = 64
	MaxEgress       = 64
	MaxCredentials  = 32
	MaxSigning      = 16
	MaxSettings     = 64
	MaxSymbols      = 256  // exports, and imports
	MaxText         = 4096 // bytes of one description, summary or reason
)

// Manifest is plugin.json in the order it is written.
type Manifest struct {
	ManifestVersion int               `json:"manifest_version"`
	ID              string            `json:"id"`
	Version         string            `json:"version"`
	Summary         string            `json:"summary"`
	License         string            `json:"license"`
	Kind            string            `json:"kind"`
	ABI             string            `json:"abi"`
	Wasm            Wasm              `json:"wasm"`
	Exports         []string          `json:"exports"`
	Imports         []string          `json:"imports"` // module.name, see [wire.JoinImport]
	Capabilities    []wire.Capability `json:"capabilities,omitempty"`
	Egress          []wire.Egress     `json:"egress,omitempty"`
	Credentials     []wire.Credential `json:"credentials,omitempty"`
	Signing         []wire.Signing    `json:"signing,omitempty"`
	Settings        []wire.Setting    `json:"settings,omitempty"`
	Limits          wire.Limits       `json:"limits"`
	Tools           []wire.Tool       `json:"tools"`
}

// Wasm names the binary and pins its content.
type Wasm struct {
	File   string `json:"file"`   // a plain name ending in .wasm, beside the manifest
	SHA256 string `json:"sha256"` // 64 lower-case hex digits
	Size   int64  `json:"size"`   // bytes
}

// New makes a manifest of what the author wrote and what the binary is. Exports
// and imports are sorted and made unique; nothing is validated.
func New(d wire.Description, w Wasm, exports, imports []string) *Manifest {
	return &Manifest{
		ManifestVersion: Version,
		ID:              d.ID,
		Version:         d.Version,
		Summary:         d.Summary,
		License:         d.License,
		Kind:            d.Kind,
		ABI:             d.ABI,
		Wasm:            w,
		Exports:         sortedUnique(exports),
		Imports:         sortedUnique(imports),
		Capabilities:    d.Capabilities,
		Egress:          d.Egress,
		Credentials:     d.Credentials,
		Signing:         d.Signing,
		Settings:        d.Settings,
		Limits:          d.Limits,
		Tools:           d.Tools,
	}
}

// Tool finds a tool by name.
func (m *Manifest) Tool(name string) (wire.Tool, bool) {
	for _, t := range m.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return wire.Tool{}, false
}

// Asks reports whether one of the plugin's capabilities covers name, as
// "net.fetch" covers "net.fetch:api.example.com".
func (m *Manifest) Asks(name string) bool {
	for _, c := range m.Capabilities {
		if wire.Covers(c.Name, name) {
			return true
		}
	}
	return false
}

// Uses reports whether one of the binary's imports needs the capability name,
// with or without its argument.
func (m *Manifest) Uses(name string) bool {
	for _, s := range m.Imports {
		module, fn, _ := wire.SplitImport(s)
		if imp, ok := wire.LookupImport(module, fn); ok && imp.Needs != "" && wire.Satisfies(name, imp.Needs) {
			return true
		}
	}
	return false
}

// Importable reports whether some import of the contract needs the capability
// name and nothing else does. The others are used by the host, as secret.bind:<NAME>
// is for the places under credentials.
func Importable(name string) bool {
	for _, need := range []string{wire.CapFSRead, wire.CapFSWrite, wire.CapKV, wire.CapNetFetch} {
		if wire.Satisfies(name, need) {
			return true
		}
	}
	return false
}
