package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Parse reads one manifest strictly and validates it. The error is a
// [*SyntaxError] when data is not a manifest at all and an [*InvalidError] when
// it is one that breaks rules.
func Parse(data []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := decodeStrict(data, MaxBytes, m); err != nil {
		return nil, err
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// ParseDescription reads what a guest's [wire.ExportDescribe] answered, as
// strictly as [Parse] and without its rules: [New] and [Manifest.Validate]
// follow.
func ParseDescription(data []byte) (wire.Description, error) {
	var d wire.Description
	err := decodeStrict(data, wire.MaxDescription, &d)
	return d, err
}

// Marshal writes the manifest the one way it is written: members in the order
// of [Manifest], two spaces, a newline at the end, schemas with their members
// in the order they came. It validates nothing and fails only on a schema that
// is not JSON.
func Marshal(m *Manifest) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("manifest: encode %s: %w", m.ID, err)
	}
	return buf.Bytes(), nil
}

func sortedUnique(in []string) []string {
	out := slices.Clone(in)
	if out == nil {
		out = []string{}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
