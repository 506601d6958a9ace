package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/b3abf3ee/portcullis/policy/shellword"
)

// engineVersion names the engine whose machine code a cache folder holds. The
// engine's own key loses its version in test binaries, and stale machine code
// must never be run; a test compares this with go.mod.
const engineVersion = "wazero-v1.12.0"

// layoutVersion names how an entry lies on disk; see [record].
const layoutVersion = "1"

// codeCache is the folder of compiled code. Processes share it: what is in it is
// written under a new name and renamed, and may be gone at any time.
type codeCache struct {
	root string // as configured
	dir  string // entries of this engine, layout, verifier and meter
	max  int64  // bytes of all entries
}

// openCodeCache makes or checks the folders. The files in them are executed: a
// folder that others can write to is refused.
func openCodeCache(root string, limit int64) (*codeCache, error) {
	own, err := openCacheDir(root)
	if err != nil {
		return nil, err
	}
	c := &codeCache{root: root, dir: filepath.Join(own, "modules-"+layoutVersion+"-"+prepareVersion+"-"+engineBuild()), max: limit}
	return c, checkOwnFolder(c.dir)
}

// openCacheDir makes or checks the folder for compiled code and returns the
// part of it for this engine.
func openCacheDir(dir string) (string, error) {
	own := filepath.Join(dir, engineVersion)
	for _, d := range []string{dir, own} {
		if err := checkOwnFolder(d); err != nil {
			return "", err
		}
	}
	return own, nil
}

// checkOwnFolder makes one folder, or refuses one that is not ours alone.
func checkOwnFolder(d string) error {
	if err := os.MkdirAll(d, 0o700); err != nil {
		return fmt.Errorf("sandbox: make cache folder: %w", err)
	}
	info, err := os.Lstat(d)
	if err != nil {
		return fmt.Errorf("sandbox: check cache folder: %w", err)
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("sandbox: cache folder %s is a link or a file: name a folder", d)
	case writableByOthers(info):
		return fmt.Errorf("sandbox: cache folder %s can be written by others, and it holds machine code: run chmod 700 %s", d, shellword.Quote(d))
	case !ownedByUs(info):
		return fmt.Errorf("sandbox: cache folder %s belongs to another user, and it holds machine code: name a folder of your own", d)
	}
	return nil
}

func writableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

// engineBuild is the version that the engine writes into its files: that of the
// program's module graph, which test binaries do not have. Programs that differ
// in it cannot read each other's code.
func engineBuild() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/tetratelabs/wazero" {
				return dep.Version
			}
		}
	}
	return "dev"
}
