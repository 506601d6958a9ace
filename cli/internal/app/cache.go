package app

import (
	"fmt"
	"os"
	"path/filepath"
)

// UserCache is the folder for what may be thrown away and is shared by all homes of a user: compiled plugins of the
// quickstart and of builds. It is not made here.
func UserCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("app: find the user's cache folder (set $XDG_CACHE_HOME or $HOME): %w", err)
	}
	return filepath.Join(dir, "portcullis"), nil
}

// MakeCache makes the folders above a cache; the cache itself is made, and checked, by who uses it.
func MakeCache(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("app: make the user's cache folder: %w", err)
	}
	return nil
}
