//go:build bundled

package portcullis

import (
	"embed"
	"io/fs"
)

//go:embed .build/guests
var guestFiles embed.FS

// Guests are the built plugins that this binary carries, one folder each with plugin.json and its wasm file; nil in
// a build without the tag bundled.
func Guests() fs.FS {
	sub, err := fs.Sub(guestFiles, ".build/guests")
	if err != nil {
		return nil // unreachable: the path is a constant that is valid
	}
	return sub
}
