package sdk

import (
	"io/fs"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Files is the workspace: reading needs fs.read, writing fs.write.
//
// Names follow [fs.ValidPath]: slash-separated, relative, "." for the top.
// Errors are [*fs.PathError] and satisfy errors.Is with [fs.ErrNotExist],
// [fs.ErrExist], [fs.ErrPermission] and the codes of this package. Files is an
// [fs.FS], so fs.WalkDir and fs.Glob work on it.
type Files struct{ to fileSystem }

// Files is the workspace of the call.
func (h Host) Files() Files { return Files{h.border()} }

// WriteMode says what happens to what is there.
type WriteMode string

// Write modes.
const (
	Replace WriteMode = wire.WriteReplace // new, or instead of what was there
	Create  WriteMode = wire.WriteCreate  // fs.ErrExist when the name is taken
	Append  WriteMode = wire.WriteAppend  // at the end; made when missing
)

// bad refuses a name that the host would refuse, without asking it.
func bad(op, name string) error {
	if !fs.ValidPath(name) || len(name) > wire.MaxPath {
		return &fs.PathError{Op: op, Path: name, Err: Errorf(Invalid, "not a workspace path: relative, slash-separated, without .., at most %d bytes", wire.MaxPath)}
	}
	return nil
}

// pathError is what failed as an error of package fs, or nil.
func pathError(op, name string, err error, f *Fault) error {
	if err := settled(err, f); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// Stat describes a file or directory.
func (f Files) Stat(name string) (fs.FileInfo, error) {
	if err := bad("stat", name); err != nil {
		return nil, err
	}
	var r wire.FSStatReply
	_, err := ask(f.to.fsStat, wire.FSStatRequest{Path: name}, nil, &r)
	if err := pathError("stat", name, err, r.Fault); err != nil {
		return nil, err
	}
	if r.Info == nil {
		return nil, pathError("stat", name, Errorf(Failed, "the host answered nothing"), nil)
	}
	return fileInfo{*r.Info}, nil
}

// ReadFile reads a whole file. A large one is read in pieces of 4 MiB, and a
// change in between is not noticed.
func (f Files) ReadFile(name string) ([]byte, error) {
	if err := bad("read", name); err != nil {
		return nil, err
	}
	var all []byte
	for {
		chunk, r, err := f.read(name, int64(len(all)), 0)
		if err != nil {
			return nil, err
		}
		if all == nil && r.EOF {
			return chunk, nil // one crossing for a small file, and no copy
		}
		all = append(all, chunk...)
		if r.EOF || len(chunk) == 0 {
			return all, nil
		}
	}
}

// ReadRange reads up to len(p) bytes from offset. n < len(p) means that the end
// of the file was reached; it is no error, and n is 0 beyond the end.
func (f Files) ReadRange(name string, p []byte, offset int64) (int, error) {
	if err := bad("read", name); err != nil {
		return 0, err
	}
	n := 0
	for n < len(p) {
		want := min(len(p)-n, wire.MaxReadBytes)
		chunk, r, err := f.read(name, offset+int64(n), int64(want))
		if err != nil {
			return n, err
		}
		n += copy(p[n:], chunk)
		if r.EOF || len(chunk) == 0 {
			break
		}
	}
	return n, nil
}

func (f Files) read(name string, offset, length int64) ([]byte, wire.FSReadReply, error) {
	var r wire.FSReadReply
	body, err := ask(f.to.fsRead, wire.FSReadRequest{Path: name, Offset: offset, Length: length}, nil, &r)
	return body, r, pathError("read", name, err, r.Fault)
}

// ReadDir lists a directory, sorted by name.
func (f Files) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := bad("readdir", name); err != nil {
		return nil, err
	}
	all, after := []fs.DirEntry{}, ""
	for {
		var r wire.FSListReply
		_, err := ask(f.to.fsList, wire.FSListRequest{Path: name, After: after}, nil, &r)
		if err := pathError("readdir", name, err, r.Fault); err != nil {
			return nil, err
		}
		for _, e := range r.Entries {
			all = append(all, fs.FileInfoToDirEntry(fileInfo{e}))
		}
		if !r.More || len(r.Entries) == 0 {
			return all, nil
		}
		after = r.Entries[len(r.Entries)-1].Name
	}
}

// WriteFile writes a file whole or not at all, at most 16 MiB. The directory
// must be there.
func (f Files) WriteFile(name string, data []byte, mode WriteMode) error {
	return f.change("write", name, f.to.fsWrite, wire.FSWriteRequest{Path: name, Mode: string(mode)}, data)
}

// MkdirAll makes a directory and those above it; it may be there already.
func (f Files) MkdirAll(name string) error {
	return f.change("mkdir", name, f.to.fsMkdir, wire.FSMkdirRequest{Path: name}, nil)
}

// Remove removes a file or an empty directory.
func (f Files) Remove(name string) error {
	return f.change("remove", name, f.to.fsRemove, wire.FSRemoveRequest{Path: name}, nil)
}

// Rename moves a file or directory; a file at the new name is replaced.
func (f Files) Rename(from, to string) error {
	if err := bad("rename", to); err != nil {
		return err
	}
	return f.change("rename", from, f.to.fsRename, wire.FSRenameRequest{From: from, To: to}, nil)
}

func (f Files) change(op, name string, call func([]byte) []byte, request any, body []byte) error {
	if err := bad(op, name); err != nil {
		return err
	}
	var r wire.Ack
	_, err := ask(call, request, body, &r)
	return pathError(op, name, err, r.Fault)
}
