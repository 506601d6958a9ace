package command

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// fileProblem is what a file system refuses for a reason that has nothing to do with what is in the files.
func fileProblem(err error) *console.Problem {
	var path *fs.PathError
	var link *os.LinkError
	if !errors.As(err, &path) && !errors.As(err, &link) {
		return nil
	}
	problem := func(code, remedy string) *console.Problem {
		return &console.Problem{Code: code, Message: sentence(err), Exit: console.ExitHost, Remedy: remedy}
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return problem("no_access", "give this user access to it, or name another place; a home is named with --home DIR")
	case errors.Is(err, syscall.EROFS):
		return problem("read_only", "mount it for writing, or name another place; a home is named with --home DIR")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return problem("disk_full", "make room there and type the command again; `portcullis store check` says whether all is well")
	}
	return nil
}

// sentence is an error's words without the name of the package that they begin with: it says where in this program, not where
// on a person's machine.
func sentence(err error) string {
	text := err.Error()
	name, rest, found := strings.Cut(text, ": ")
	if !found || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return text
	}
	return rest
}
