// Package portcullis carries the repository's own sources that the program needs at run time, so that `portcullis
// plugin new` works with one file and no network: a new plugin gets its own copy of the sdk, or of
// what sdk/languages has for its language.
//
// It owns no behaviour. A build with the tag bundled also carries the built plugins of .build/guests (see bundled.go);
// without the tag they are built from the checkout when they are needed.
package portcullis

import (
	"embed"
	"io/fs"
)

// Module is the path of this module, which a plugin's go.mod requires.
const Module = "github.com/b3abf3ee/portcullis"

//go:embed LICENSE sdk/*.go sdk/wire/*.go sdk/internal/abi/*.go sdk/internal/codec/*.go sdk/manifest/*.go sdk/plugintest/*.go
var sdkFiles embed.FS

// SDK is the source of everything that a plugin is compiled and tested with, by its path below the module: sdk,
// sdk/plugintest, what they import (nothing but the standard library besides), and the licence they are under. Test files are among it; who copies it leaves them out.
func SDK() fs.FS { return sdkFiles }

//go:embed sdk/languages
var languageFiles embed.FS

// Languages is what plugins in other languages than Go begin with, by its path below the module: sdk/languages/NAME.
func Languages() fs.FS { return languageFiles }
