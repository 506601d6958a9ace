package app

import (
	"fmt"
	"os"
	"path/filepath"
)

// CacheVariable names the folder for compiled plugins, shared by everything that this user runs. What is in it is
// executed: the sandbox refuses a folder that others can write to.
const CacheVariable = "PORTCULLIS_CACHE"

// Cache is where the compiled plugins of the home are kept: $PORTCULLIS_CACHE, else cache/ below the home.
func (h Home) Cache(env func(string) string) string {
	if dir := env(CacheVariable); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return h.Join(CacheName)
}

// UserCache is where compiled plugins are kept that belong to no home (builds, the quickstart): $PORTCULLIS_CACHE, else
// portcullis/compiled below the user's cache folder. The folder above it is made.
func UserCache(env func(string) string) (string, error) {
	if dir := env(CacheVariable); filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("app: find the user's cache folder (set $XDG_CACHE_HOME or $HOME): %w", err)
	}
	dir = filepath.Join(dir, "portcullis")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("app: make the user's cache folder: %w", err)
	}
	return filepath.Join(dir, "compiled"), nil
}
