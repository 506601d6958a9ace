package agentfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Replace writes data to a file that is there, whole or not at all, with the mode it had: into a hidden file beside
// it that is synced and renamed over it.
func Replace(path string, data []byte) (err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("agentfile: look at %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("agentfile: %s is not a plain file: links are not followed", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("agentfile: write beside %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("agentfile: write %s: %w", path, err), os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
