package sdk

import (
	"io/fs"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

type fileSystem interface {
	FSStat(arg []byte) []byte
	FSRead(arg []byte) []byte
	FSList(arg []byte) []byte
	FSWrite(arg []byte) []byte
	FSMkdir(arg []byte) []byte
	FSRemove(arg []byte) []byte
	FSRename(arg []byte) []byte
}

// Files is the workspace through the host.
func (g *guest) Files() Files { return workspace{g.files} }

type workspace struct{ sys fileSystem }

// bad refuses a name that the host would refuse, without asking it.
func bad(op, name string) error {
	if !fs.ValidPath(name) || len(name) > wire.MaxPath {
		return &fs.PathError{Op: op, Path: name, Err: Errorf(Invalid, "not a workspace path: relative, slash-separated, without .., at most %d bytes", wire.MaxPath)}
	}
	return nil
}

// settle joins the two ways of failing into one error of package fs.
func settle(op, name string, err error, f *Fault) error {
	if err == nil {
		err = refused(f)
	}
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (w workspace) Stat(name string) (fs.FileInfo, error) {
	if err := bad("stat", name); err != nil {
		return nil, err
	}
	var r wire.FSStatReply
	_, err := ask(w.sys.FSStat, wire.FSStatRequest{Path: name}, nil, &r)
	if err := settle("stat", name, err, r.Fault); err != nil {
		return nil, err
	}
	if r.Info == nil {
		return nil, settle("stat", name, Errorf(Failed, "the host answered nothing"), nil)
	}
	return fileInfo{*r.Info}, nil
}

// ReadFile reads chunk by chunk until the host says that the end is there.
func (w workspace) ReadFile(name string) ([]byte, error) {
	if err := bad("read", name); err != nil {
		return nil, err
	}
	var all []byte
	for {
		chunk, r, err := w.read(name, int64(len(all)), 0)
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

func (w workspace) ReadRange(name string, p []byte, offset int64) (int, error) {
	if err := bad("read", name); err != nil {
		return 0, err
	}
	n := 0
	for n < len(p) {
		want := min(len(p)-n, wire.MaxReadBytes)
		chunk, r, err := w.read(name, offset+int64(n), int64(want))
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

func (w workspace) read(name string, offset, length int64) ([]byte, wire.FSReadReply, error) {
	var r wire.FSReadReply
	body, err := ask(w.sys.FSRead, wire.FSReadRequest{Path: name, Offset: offset, Length: length}, nil, &r)
	return body, r, settle("read", name, err, r.Fault)
}

func (w workspace) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := bad("readdir", name); err != nil {
		return nil, err
	}
	all, after := []fs.DirEntry{}, ""
	for {
		var r wire.FSListReply
		_, err := ask(w.sys.FSList, wire.FSListRequest{Path: name, After: after}, nil, &r)
		if err := settle("readdir", name, err, r.Fault); err != nil {
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

func (w workspace) WriteFile(name string, data []byte, mode WriteMode) error {
	return w.change("write", name, w.sys.FSWrite, wire.FSWriteRequest{Path: name, Mode: string(mode)}, data)
}

func (w workspace) MkdirAll(name string) error {
	return w.change("mkdir", name, w.sys.FSMkdir, wire.FSMkdirRequest{Path: name}, nil)
}

func (w workspace) Remove(name string) error {
	return w.change("remove", name, w.sys.FSRemove, wire.FSRemoveRequest{Path: name}, nil)
}

func (w workspace) Rename(from, to string) error {
	if err := bad("rename", to); err != nil {
		return err
	}
	return w.change("rename", from, w.sys.FSRename, wire.FSRenameRequest{From: from, To: to}, nil)
}

func (w workspace) change(op, name string, call func([]byte) []byte, request any, body []byte) error {
	if err := bad(op, name); err != nil {
		return err
	}
	var r wire.Ack
	_, err := ask(call, request, body, &r)
	return settle(op, name, err, r.Fault)
}
