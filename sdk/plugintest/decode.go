package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// strict reads exactly one JSON value of at most limit bytes into v; a member that v does not have is refused. The host
// reads the same messages with a stricter decoder.
func strict(data []byte, limit int, v any) error {
	if len(data) > limit {
		return fmt.Errorf("message has %d bytes, at most %d are allowed", len(data), limit)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("decode: something follows the value at byte %d", dec.InputOffset())
	}
	return nil
}
