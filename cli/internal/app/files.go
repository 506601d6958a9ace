package app

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Keep copies a file below the home beside itself, as NAME.bak, or NAME.2.bak and so on where that is taken, with the
// mode 0600, and returns the copy's name. It is "" when there is no such file, or when it has the bytes of instead: then
// nothing of it would be lost. A file of more than a mebibyte, which no file of a home's configuration is, is an error.
func (h Home) Keep(name string, instead []byte) (kept string, err error) {
	path := h.Join(filepath.FromSlash(name))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("app: look at %s: %w", path, err)
	case !info.Mode().IsRegular(), info.Size() > maxKept:
		return "", fmt.Errorf("app: %s is not a plain file of at most %d bytes: move it away", path, maxKept)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("app: read %s: %w", path, err)
	}
	if bytes.Equal(old, instead) {
		return "", nil
	}
	kept = name + ".bak"
	for n := 2; ; n++ {
		written, err := h.Put(kept, old, 0o600, false)
		if err != nil || written {
			return kept, err
		}
		kept = fmt.Sprintf("%s.%d.bak", name, n)
	}
}

// maxKept bounds a file that is copied whole.
const maxKept = 1 << 20

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
