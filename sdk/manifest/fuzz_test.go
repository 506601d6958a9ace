package manifest_test

import (
	"bytes"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// What is accepted is written to bytes that are accepted, and from then on the
// same value is the same bytes.
func FuzzParse(f *testing.F) {
	f.Add(golden(f))
	f.Add([]byte(`{"id":"x","id":"y"}`))
	f.Add([]byte(`{"tools":[{"input_schema":{"a":[1e400,-0,"\u2028<"]}}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := manifest.Parse(in)
		if err != nil {
			return
		}
		once, err := manifest.Marshal(m)
		if err != nil {
			t.Fatalf("accepted and not written: %v", err)
		}
		again, err := manifest.Parse(once)
		if err != nil {
			t.Fatalf("written and not accepted: %v\n%s", err, once)
		}
		twice, err := manifest.Marshal(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("two writings differ (%v):\n%s\n%s", err, once, twice)
		}
	})
}
