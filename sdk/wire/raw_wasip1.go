//go:build wasip1

package wire

import "github.com/b3abf3ee/portcullis/sdk/internal/codec"

// RawJSON is JSON text inside a message, as sdk's codec reads and writes it.
type RawJSON = codec.Raw
