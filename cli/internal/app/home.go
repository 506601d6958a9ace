package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/policy/shellword"
)

// HomeVariable names the home when no flag does.
const HomeVariable = "PORTCULLIS_HOME"

// Home is the folder with everything of one operator: configuration, cores, plugins, database, cache.
type Home struct{ Path string }

// FindHome decides which folder is the home: flag, then $PORTCULLIS_HOME, then ~/.portcullis. It looks at nothing on
// disk. dir is the working directory, against which a relative path stands.
func FindHome(flag string, env func(string) string, dir string) (Home, error) {
	path := flag
	if path == "" {
		path = env(HomeVariable)
	}
	if path == "" {
		user := env("HOME")
		if user == "" {
			return Home{}, &console.Problem{
				Code: "no_home", Exit: console.ExitUsage, Message: "no home is named and $HOME is not set",
				Remedy: "add --home DIR, or set $" + HomeVariable,
			}
		}
		path = filepath.Join(user, ".portcullis")
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		return Home{}, &console.Problem{
			Code: "home_tilde", Exit: console.ExitUsage, Message: "the home is named as " + path + ", and a shell leaves ~ as it is in quotes and in files",
			Remedy: "write $HOME in its place, or ./~ for a folder of that name",
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return Home{filepath.Clean(path)}, nil
}

// Names below the home that package app itself uses.
const (
	DatabaseName = "portcullis.db"
	ConfigName   = "config.yaml"
	CacheName    = "cache"
	CoresName    = "cores"
	lockName     = ".lock"
)

// Join is a path below the home.
func (h Home) Join(elem ...string) string {
	return filepath.Join(append([]string{h.Path}, elem...)...)
}

// Check looks at the home and changes nothing. A home that is not there, or that others can look into, is a
// [*console.Problem].
func (h Home) Check() error {
	info, err := os.Stat(h.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &console.Problem{
			Code: "home_missing", Exit: console.ExitUsage, Message: "there is no home at " + h.Path,
			Remedy: "make one with `portcullis init`, or name another with --home DIR", Cause: err,
		}
	case errors.Is(err, fs.ErrPermission):
		return &console.Problem{
			Code: "home_inaccessible", Exit: console.ExitUsage, Message: "the home " + h.Path + " cannot be looked at: permission denied",
			Remedy: "run as the user whose home it is, give yourself access to the folders above it, or name another with --home DIR", Cause: err,
		}
	case err != nil:
		return fmt.Errorf("app: look at the home: %w", err)
	case !info.IsDir():
		return &console.Problem{
			Code: "home_not_a_folder", Exit: console.ExitUsage, Message: h.Path + " is not a folder",
			Remedy: "name a folder with --home DIR",
		}
	case info.Mode().Perm()&0o077 != 0:
		return &console.Problem{
			Code: "home_open_to_others", Exit: console.ExitUsage,
			Message: fmt.Sprintf("%s has mode %04o: other users of this machine can look into it", h.Path, info.Mode().Perm()),
			Remedy:  "chmod 700 " + shellword.Quote(h.Path),
		}
	case info.Mode().Perm()&0o700 != 0o700:
		return &console.Problem{
			Code: "home_closed", Exit: console.ExitUsage,
			Message: fmt.Sprintf("%s has mode %04o: its own operator cannot read, write and enter it", h.Path, info.Mode().Perm()),
			Remedy:  "chmod 700 " + shellword.Quote(h.Path),
		}
	}
	return nil
}

// Make makes the home with mode 0700 if it is not there. What is there already must be as [Home.Check] wants it.
func (h Home) Make() error {
	if err := os.MkdirAll(filepath.Dir(h.Path), 0o755); err != nil {
		return fmt.Errorf("app: make the folder above the home: %w", err)
	}
	err := os.Mkdir(h.Path, 0o700)
	if err == nil {
		err = os.Chmod(h.Path, 0o700) // whatever the umask took
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("app: make the home: %w", err)
	}
	return h.Check()
}
