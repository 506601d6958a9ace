package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// What a file system refuses is told with a code and a remedy of its own, and without the name of a package.
func TestWhatAFileSystemRefusesHasItsRemedy(t *testing.T) {
	at := func(errno error) error { return &fs.PathError{Op: "open", Path: "/x/.lock", Err: errno} }
	for name, c := range map[string]struct {
		err           error
		code, message string
	}{
		"no access":    {fmt.Errorf("scaffold: make a folder in /x: %w", at(syscall.EACCES)), "no_access", "make a folder in /x: open /x/.lock: permission denied"},
		"read-only":    {fmt.Errorf("app: write the lock: %w", at(syscall.EROFS)), "read_only", "write the lock: open /x/.lock: read-only file system"},
		"full":         {at(syscall.ENOSPC), "disk_full", "open /x/.lock: no space left on device"},
		"renaming":     {&os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: syscall.EPERM}, "no_access", "rename /a /b: operation not permitted"},
		"another":      {fmt.Errorf("app: write the lock: %w", at(syscall.EIO)), "host_failed", "write the lock: open /x/.lock: input/output error"},
		"no file":      {fmt.Errorf("host: ask: %w", fs.ErrPermission), "host_failed", "ask: permission denied"},
		"no package":   {errors.New("the model is gone: nobody knows where"), "host_failed", "the model is gone: nobody knows where"},
		"only a place": {errors.New("nothing"), "host_failed", "nothing"},
	} {
		p := problemOf(t.Context(), c.err)
		if p.Code != c.code || p.Message != c.message || p.Remedy == "" || p.Exit != console.ExitHost || !errors.Is(p, c.err) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
