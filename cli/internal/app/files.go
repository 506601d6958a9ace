package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Put writes a file below the home, and the folders above it, whole or not at all: into a hidden file beside it that
// is synced and renamed. A file that is there is replaced only with force; written tells whether anything was.
func (h Home) Put(name string, data []byte, mode fs.FileMode, force bool) (written bool, err error) {
	path := h.Join(filepath.FromSlash(name))
	if info, err := os.Lstat(path); err == nil {
		if !force {
			return false, nil
		}
		if !info.Mode().IsRegular() {
			return false, fmt.Errorf("app: %s is not a plain file: move it away", path)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("app: look at %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fmt.Errorf("app: make the folder of %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return false, fmt.Errorf("app: write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("app: write %s: %w", path, err), os.Remove(f.Name()))
	}
	return true, nil
}
