//go:build !wasip1

package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Decode reads exactly one JSON value of at most limit bytes into v; a member
// that v does not have is refused. It is for tests and tools on the
// outside of a guest: a guest reads with sdk's own codec, and the host, which
// reads hostile bytes, with a stricter decoder.
func Decode(data []byte, limit int, v any) error {
	if len(data) > limit {
		return fmt.Errorf("wire: message has %d bytes, at most %d are allowed", len(data), limit)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("wire: decode: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("wire: decode: something follows the value at byte %d", dec.InputOffset())
	}
	return nil
}
