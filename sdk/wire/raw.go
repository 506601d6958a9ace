//go:build !wasip1

package wire

import "encoding/json"

// RawJSON is JSON text inside a message: json.RawMessage, and in a guest, which
// need not carry encoding/json for a type, the same without it.
type RawJSON = json.RawMessage
