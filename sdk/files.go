package sdk

import (
	"io/fs"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
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
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Stat describes a file or directory.
func (f Files) Stat(name string) (fs.FileInfo, error) {
	if err := bad("stat", name); err != nil {
		return nil, err
	}
	var info *wire.FileInfo
	_, err := ask(f.to.fsStat, path(name), nil, func(member string, r *codec.Reader) error {
		if member != "info" {
			return r.Unknown(member)
		}
		info = &wire.FileInfo{}
		return readInfo(r, info)
	})
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	if info == nil {
		return nil, pathError("stat", name, Errorf(Failed, "the host answered nothing"))
	}
	return fileInfo{*info}, nil
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
	head := path(name)
	head.IntUnlessZero("offset", offset)
	head.IntUnlessZero("length", length)
	var reply wire.FSReadReply
	body, err := ask(f.to.fsRead, head, nil, func(member string, r *codec.Reader) error {
		switch member {
		case "size":
			return r.Int(&reply.Size)
		case "eof":
			return r.Bool(&reply.EOF)
		}
		return r.Unknown(member)
	})
	return body, reply, pathError("read", name, err)
}

// ReadDir lists a directory, sorted by name.
func (f Files) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := bad("readdir", name); err != nil {
		return nil, err
	}
	all, after := []fs.DirEntry{}, ""
	for {
		page, more, err := f.list(name, after)
		if err != nil {
			return nil, pathError("readdir", name, err)
		}
		for _, e := range page {
			all = append(all, fs.FileInfoToDirEntry(fileInfo{e}))
		}
		if !more || len(page) == 0 {
			return all, nil
		}
		after = page[len(page)-1].Name
	}
}

// list asks for one page.
func (f Files) list(name, after string) (page []wire.FileInfo, more bool, err error) {
	head := path(name)
	head.TextUnlessEmpty("after", after)
	_, err = ask(f.to.fsList, head, nil, func(member string, r *codec.Reader) error {
		switch member {
		case "entries":
			return r.List(func(r *codec.Reader) error {
				page = append(page, wire.FileInfo{})
				return readInfo(r, &page[len(page)-1])
			})
		case "more":
			return r.Bool(&more)
		}
		return r.Unknown(member)
	})
	return page, more, err
}

// WriteFile writes a file whole or not at all, at most 16 MiB. The directory
// must be there.
func (f Files) WriteFile(name string, data []byte, mode WriteMode) error {
	head := path(name)
	head.Text("mode", string(mode))
	return f.change("write", name, f.to.fsWrite, head, data)
}

// MkdirAll makes a directory and those above it; it may be there already.
func (f Files) MkdirAll(name string) error {
	return f.change("mkdir", name, f.to.fsMkdir, path(name), nil)
}

// Remove removes a file or an empty directory.
func (f Files) Remove(name string) error {
	return f.change("remove", name, f.to.fsRemove, path(name), nil)
}

// Rename moves a file or directory; a file at the new name is replaced.
func (f Files) Rename(from, to string) error {
	if err := bad("rename", to); err != nil {
		return err
	}
	var head codec.Writer
	head.Text("from", from)
	head.Text("to", to)
	return f.change("rename", from, f.to.fsRename, head, nil)
}

func (f Files) change(op, name string, call func([]byte) []byte, head codec.Writer, body []byte) error {
	if err := bad(op, name); err != nil {
		return err
	}
	_, err := ask(call, head, body, acknowledged)
	return pathError(op, name, err)
}

// path begins the header of a request about one file.
func path(name string) codec.Writer {
	var o codec.Writer
	o.Text("path", name)
	return o
}

func readInfo(r *codec.Reader, to *wire.FileInfo) error {
	return r.Members(func(name string, r *codec.Reader) error {
		switch name {
		case "name":
			return r.Text(&to.Name)
		case "kind":
			return r.Text(&to.Kind)
		case "size":
			return r.Int(&to.Size)
		case "mod_unix_ms":
			return r.Int(&to.ModUnixMS)
		}
		return r.Unknown(name)
	})
}
