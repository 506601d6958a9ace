// Package column owns the text of columns that hold a list: audit fields and names.
//
// What it writes it reads again as it was. It refuses, when reading, whatever it would not have written: another
// shape, duplicate members, more or longer fields than a record may have. A row survives a crash or it does not;
// nothing here does.
package column

import (
	"fmt"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/go-json-experiment/json"
)

// EncodeFields writes audit fields as [[name, value], ...], which keeps their order and repeats.
func EncodeFields(fields []event.Field) (string, error) {
	pairs := make([][2]string, len(fields))
	for i, f := range fields {
		pairs[i] = [2]string{f.Name, f.Value}
	}
	text, err := json.Marshal(pairs)
	return string(text), err
}

// DecodeFields undoes [EncodeFields]. Anything else in the column is an error.
func DecodeFields(text string) ([]event.Field, error) {
	if len(text) > maxFieldsBytes {
		return nil, fmt.Errorf("audit fields have %d bytes, limit %d", len(text), maxFieldsBytes)
	}
	var pairs [][2]string
	if err := json.Unmarshal([]byte(text), &pairs); err != nil {
		return nil, fmt.Errorf("audit fields: %w", err)
	}
	if len(pairs) > event.MaxFields {
		return nil, fmt.Errorf("audit record has %d fields, limit %d", len(pairs), event.MaxFields)
	}
	fields := make([]event.Field, len(pairs))
	for i, p := range pairs {
		fields[i] = event.F(p[0], p[1])
	}
	return fields, nil
}

// maxFieldsBytes is above what any record inside event's bounds takes, each byte escaped.
const maxFieldsBytes = event.MaxFields * (event.MaxFieldBytes + 128) * 6

// EncodeNames writes a list of names as a JSON array.
func EncodeNames(names []string) (string, error) {
	if names == nil {
		names = []string{}
	}
	text, err := json.Marshal(names)
	return string(text), err
}

// DecodeNames undoes [EncodeNames].
func DecodeNames(text string) ([]string, error) {
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, fmt.Errorf("list of names: %w", err)
	}
	if len(names) == 0 {
		return nil, nil
	}
	return names, nil
}
