package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// fileMode is that of the database and everything made beside it. SQLite gives its -wal and -shm files the mode of
// the database.
const fileMode fs.FileMode = 0o600

// own makes path private to its owner, creating it empty when it is not there.
func own(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&^fileMode != 0 {
		return os.Chmod(path, fileMode)
	}
	return nil
}

// flush puts path and then the entry of its folder on disk.
func flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return flushFolder(filepath.Dir(path))
}

// flushFolder makes names in dir durable. Windows has no such call and needs none.
func flushFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// place gives the finished file at from its name, refusing to replace anything.
func place(from, to string) error {
	if err := os.Link(from, to); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		// No hard links here: the check and the rename are two steps, which is the best this file system offers.
		if _, err := os.Lstat(to); err == nil {
			return &fs.PathError{Op: "place", Path: to, Err: fs.ErrExist}
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
	} else if err := os.Remove(from); err != nil {
		return err
	}
	return flushFolder(filepath.Dir(to))
}

// duplicate copies from to a new file and flushes it.
func duplicate(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// discard removes a database file of our own making and what SQLite kept beside it.
func discard(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
