package sandbox

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// tempPrefix begins the names of half-written files. Plugins cannot name them.
const tempPrefix = ".portcullis-"

// fileWrite puts content in place in one step. Replace and create write a
// temporary file beside the target, sync it and move it there, so that a crash
// leaves the old file or the new one. Append is one write at the end, taken
// back when it fails; a crash of the machine inside it may leave a part.
func (s *Session) fileWrite(_ context.Context, req wire.FSWriteRequest, body []byte) (any, []byte, *wire.Fault) {
	dir, name, f := s.fileAt(req.Path, true)
	if f != nil {
		return nil, nil, f
	}
	if name == "." {
		return nil, nil, faultf(wire.CodeInvalid, "the workspace itself is not a file")
	}
	at, f := s.enter(dir, false)
	if f != nil {
		return nil, nil, f
	}
	defer at.Close()
	if f := s.spendFile(int64(len(body))); f != nil {
		return nil, nil, f
	}
	var err error
	switch req.Mode {
	case wire.WriteReplace, wire.WriteCreate:
		err = s.place(at, name, body, req.Mode == wire.WriteCreate)
	case wire.WriteAppend:
		err = appendFile(at, name, body)
	default:
		return nil, nil, faultf(wire.CodeInvalid, "mode %q is not one of replace, create, append", req.Mode)
	}
	if err != nil {
		return nil, nil, fileFault(err, req.Path)
	}
	return wire.Ack{}, nil, nil
}

// place writes a file whole. A new file is for its owner only; one that is
// replaced keeps its permission bits.
func (s *Session) place(at *os.Root, name string, body []byte, create bool) error {
	mode := fs.FileMode(0o600)
	switch seen, err := at.Lstat(name); {
	case err == nil && create:
		return fs.ErrExist
	case err == nil && !seen.Mode().IsRegular():
		return errNotFile
	case err == nil:
		mode = seen.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	temp, err := s.writeTemp(at, body, mode)
	if err != nil {
		return err
	}
	if create {
		// A link fails when the name is there, which a rename would not.
		err = at.Link(temp, name)
	} else if err = at.Rename(temp, name); err == nil {
		return syncDir(at)
	}
	removed := at.Remove(temp)
	if err == nil {
		err = errors.Join(removed, syncDir(at))
	}
	return err
}

// writeTemp leaves a synced file of a random name, or nothing.
func (s *Session) writeTemp(at *os.Root, body []byte, mode fs.FileMode) (string, error) {
	var random [12]byte
	if _, err := io.ReadFull(s.rand, random[:]); err != nil {
		return "", err
	}
	temp := tempPrefix + hex.EncodeToString(random[:])
	f, err := at.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(body)
	if err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, at.Remove(temp))
	}
	return temp, nil
}

// syncDir makes a rename survive a crash of the machine.
func syncDir(at *os.Root) error {
	d, err := at.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func appendFile(at *os.Root, name string, body []byte) error {
	f, err := at.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	size := int64(0)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if f, info, err = openRegular(at, name, os.O_WRONLY|os.O_APPEND); err == nil {
			size = info.Size()
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		err = errors.Join(err, f.Truncate(size))
	}
	return errors.Join(err, f.Close())
}

func (s *Session) fileMkdir(_ context.Context, req wire.FSMkdirRequest, _ []byte) (any, []byte, *wire.Fault) {
	if _, _, f := s.fileAt(req.Path, true); f != nil {
		return nil, nil, f
	}
	at, f := s.enter(req.Path, true)
	if f != nil {
		return nil, nil, f
	}
	at.Close()
	return wire.Ack{}, nil, nil
}

func (s *Session) fileRemove(_ context.Context, req wire.FSRemoveRequest, _ []byte) (any, []byte, *wire.Fault) {
	at, name, f := s.leaf(req.Path)
	if f != nil {
		return nil, nil, f
	}
	defer at.Close()
	seen, err := at.Lstat(name)
	if err == nil && !seen.IsDir() && !seen.Mode().IsRegular() {
		err = errNotFile
	}
	if err == nil {
		err = at.Remove(name)
	}
	if err != nil {
		return nil, nil, fileFault(err, req.Path)
	}
	return wire.Ack{}, nil, nil
}

// leaf opens the directory of a path that is to be changed.
func (s *Session) leaf(p string) (*os.Root, string, *wire.Fault) {
	dir, name, f := s.fileAt(p, true)
	if f != nil {
		return nil, "", f
	}
	if name == "." {
		return nil, "", faultf(wire.CodeInvalid, "the workspace itself cannot be moved or removed")
	}
	at, f := s.enter(dir, false)
	return at, name, f
}

// fileRename looks at both ends without following links; the move itself is
// one step of os.Root, which keeps it inside the workspace.
func (s *Session) fileRename(_ context.Context, req wire.FSRenameRequest, _ []byte) (any, []byte, *wire.Fault) {
	from, fromName, f := s.leaf(req.From)
	if f != nil {
		return nil, nil, f
	}
	defer from.Close()
	to, toName, f := s.leaf(req.To)
	if f != nil {
		return nil, nil, f
	}
	defer to.Close()
	src, err := from.Lstat(fromName)
	if err == nil && !src.IsDir() && !src.Mode().IsRegular() {
		err = errNotFile
	}
	if err != nil {
		return nil, nil, fileFault(err, req.From)
	}
	switch dst, err := to.Lstat(toName); {
	case err == nil && (dst.IsDir() || src.IsDir()):
		return nil, nil, faultf(wire.CodeExists, "%q is there already", req.To)
	case err == nil && !dst.Mode().IsRegular():
		return nil, nil, fileFault(errNotFile, req.To)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, nil, fileFault(err, req.To)
	}
	if err := s.opt.Workspace.Rename(req.From, req.To); err != nil {
		return nil, nil, fileFault(err, req.To)
	}
	return wire.Ack{}, nil, nil
}
