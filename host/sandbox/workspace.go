package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// fileAt checks a guest's path and splits it into directory and last name. The
// workspace itself is ("." , ".").
func (s *Session) fileAt(p string, writing bool) (dir, name string, f *wire.Fault) {
	switch {
	case s.opt.Workspace == nil:
		return "", "", faultf(wire.CodeDenied, "this call has no workspace")
	case len(p) > wire.MaxPath || !utf8.ValidString(p) || !fs.ValidPath(p) || strings.ContainsAny(p, "\\\x00"):
		return "", "", faultf(wire.CodeInvalid, "%q is not a path inside the workspace: write it relative, with slashes, without ..", p)
	case sensitive(p, writing):
		return "", "", faultf(wire.CodeDenied, "%q is kept from plugins: it may hold credentials or control the repository", p)
	}
	dir, name = path.Split(p)
	return path.Clean(dir), name, nil
}

// sensitive reports whether any part of a path is one that no plugin gets, by
// name and in any case (some file systems fold it).
func sensitive(p string, writing bool) bool {
	for part := range strings.SplitSeq(strings.ToLower(p), "/") {
		switch part {
		case ".git", ".venv", ".ssh", ".aws", ".kube", ".gnupg",
			".netrc", ".npmrc", ".pgpass", ".pypirc",
			"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519":
			return true
		case "pyproject.toml", "uv.lock":
			if writing {
				return true
			}
		}
		if strings.HasPrefix(part, ".env") || strings.HasPrefix(part, ".portcullis") ||
			strings.HasSuffix(part, ".pem") || strings.HasSuffix(part, ".key") {
			return true
		}
	}
	return false
}

// enter opens a directory of the workspace one part at a time and follows no
// link: each part is looked at, opened, and must be what was looked at. With
// make it creates what is missing. os.Root keeps every step inside besides.
func (s *Session) enter(dir string, create bool) (*os.Root, *wire.Fault) {
	at, err := s.opt.Workspace.OpenRoot(".")
	if err != nil {
		return nil, fileFault(err, dir)
	}
	for part := range strings.SplitSeq(dir, "/") {
		if part == "." {
			continue
		}
		next, err := step(at, part, create)
		at.Close()
		if err != nil {
			return nil, fileFault(err, dir)
		}
		at = next
	}
	return at, nil
}

// errNotDir and errNotFile are refusals of this file, not of the system.
var (
	errNotDir  = errors.New("not a directory")
	errNotFile = errors.New("not a regular file")
)

func step(at *os.Root, part string, create bool) (*os.Root, error) {
	seen, err := at.Lstat(part)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err = at.Mkdir(part, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			seen, err = at.Lstat(part)
		}
	}
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, errNotDir
	}
	next, err := at.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	if now, err := next.Stat("."); err != nil || !os.SameFile(seen, now) {
		next.Close()
		return nil, errNotDir // it was swapped for a link meanwhile
	}
	return next, nil
}

// openRegular opens a regular file and no link, device or pipe.
func openRegular(dir *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, errNotFile
	}
	f, err := dir.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	now, err := f.Stat()
	if err != nil || !os.SameFile(seen, now) || !now.Mode().IsRegular() {
		f.Close()
		return nil, nil, errNotFile
	}
	return f, now, nil
}

// fileFault says what failed in the guest's own words: the path it gave, never
// the host's path or the system's text.
func fileFault(err error, p string) *wire.Fault {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return faultf(wire.CodeNotFound, "%q is not there", p)
	case errors.Is(err, errNotDir):
		return faultf(wire.CodeNotFound, "%q is not a directory (links are not followed)", p)
	case errors.Is(err, errNotFile):
		return faultf(wire.CodeInvalid, "%q is not a regular file (links are not followed)", p)
	case errors.Is(err, fs.ErrPermission):
		return faultf(wire.CodeDenied, "the host may not touch %q", p)
	case errors.Is(err, syscall.ENOTEMPTY): // before ErrExist, which it also is
		return faultf(wire.CodeConflict, "%q is not empty", p)
	case errors.Is(err, fs.ErrExist):
		return faultf(wire.CodeExists, "%q is there already", p)
	case errors.Is(err, syscall.ENOSPC):
		return faultf(wire.CodeIO, "the disk is full")
	}
	return faultf(wire.CodeIO, "%q could not be used", p)
}
