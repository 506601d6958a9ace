package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
)

// engineVersion names the engine whose machine code a cache folder holds. The
// engine's own key loses its version in test binaries, and stale machine code
// must never be run; a test compares this with go.mod.
const engineVersion = "wazero-v1.12.0"

// openCacheDir makes or checks the folder for compiled code and returns the
// part of it for this engine. The files in it are executed: a folder that
// others can write to is refused.
func openCacheDir(dir string) (string, error) {
	own := filepath.Join(dir, engineVersion)
	for _, d := range []string{dir, own} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return "", fmt.Errorf("sandbox: make cache folder: %w", err)
		}
		info, err := os.Lstat(d)
		if err != nil {
			return "", fmt.Errorf("sandbox: check cache folder: %w", err)
		}
		switch {
		case !info.IsDir():
			return "", fmt.Errorf("sandbox: cache folder %s is a link or a file: name a folder", d)
		case info.Mode().Perm()&0o022 != 0:
			return "", fmt.Errorf("sandbox: cache folder %s can be written by others, and it holds machine code: run chmod 700 %s", d, d)
		case !ownedByUs(info):
			return "", fmt.Errorf("sandbox: cache folder %s belongs to another user, and it holds machine code: name a folder of your own", d)
		}
	}
	return own, nil
}
