//go:build bundled

package portcullis

import (
	"embed"
	"io/fs"
)

// Each plugin by name: .build/guests also holds what tests built.
//
//go:embed .build/guests/calc .build/guests/files .build/guests/notes .build/guests/text .build/guests/web
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
