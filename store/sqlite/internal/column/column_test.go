package column_test

import (
	"slices"
	"testing"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/store/sqlite/internal/column"
)

// FuzzDecodeFields holds that a column which is accepted holds no more than a record may and is written again as
// the same fields.
func FuzzDecodeFields(f *testing.F) {
	for _, seed := range []string{`[]`, `[["a","b"],["a",""]]`, `[["a"]]`, `[["a","b","c"]]`, `null`, `[null]`, `{"a":"b"}`, `[["\ud800","x"]]`, `[[1,2]]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := column.DecodeFields(text)
		if err != nil {
			if fields != nil {
				t.Fatal("an error came with fields")
			}
			return
		}
		if len(fields) > event.MaxFields {
			t.Fatalf("%d fields", len(fields))
		}
		written, err := column.EncodeFields(fields)
		if err != nil {
			t.Fatalf("%q cannot be written again: %v", text, err)
		}
		again, err := column.DecodeFields(written)
		if err != nil || !slices.Equal(fields, again) {
			t.Fatalf("%q became %q, then %q (%v)", text, fields, again, err)
		}
	})
}

// FuzzDecodeNames holds the same of a list of names.
func FuzzDecodeNames(f *testing.F) {
	for _, seed := range []string{`[]`, `["kv","fs.read"]`, `null`, `[null]`, `{}`, `["\u0000"]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := column.DecodeNames(text)
		if err != nil {
			if names != nil {
				t.Fatal("an error came with names")
			}
			return
		}
		written, err := column.EncodeNames(names)
		if err != nil {
			t.Fatalf("%q cannot be written again: %v", text, err)
		}
		again, err := column.DecodeNames(written)
		if err != nil || !slices.Equal(names, again) {
			t.Fatalf("%q became %q, then %q (%v)", text, names, again, err)
		}
	})
}
