//go:build !bundled

package portcullis

import "io/fs"

// Guests are the built plugins that this binary carries, one folder each with plugin.json and its wasm file; nil in
// a build without the tag bundled.
func Guests() fs.FS { return nil }
