package sdk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Open gives an [fs.File]: a directory for listing, or a file that is read in
// ranges as its reader goes.
func (f Files) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			pe.Op = "open"
		}
		return nil, err
	}
	if info.IsDir() {
		return &openDir{f: f, name: name, info: info}, nil
	}
	return &openFile{files: f, name: name, info: info}, nil
}

// openFile reads ahead by up to one window, so that small reads do not each
// cross the border.
type openFile struct {
	files  Files
	name   string
	info   fs.FileInfo
	offset int64
	ahead  bytes.Reader
	end    bool
	closed bool
}

const window = 64 << 10

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *openFile) Close() error {
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	return nil
}

func (f *openFile) Read(p []byte) (int, error) {
	if f.closed {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrClosed}
	}
	if len(p) == 0 {
		return 0, nil
	}
	if f.ahead.Len() == 0 {
		if f.end {
			return 0, io.EOF
		}
		chunk, r, err := f.files.read(f.name, f.offset, max(window, min(int64(len(p)), wire.MaxReadBytes)))
		if err != nil {
			return 0, err
		}
		f.offset += int64(len(chunk))
		f.end = r.EOF || len(chunk) == 0
		f.ahead.Reset(chunk)
		if len(chunk) == 0 {
			return 0, io.EOF
		}
	}
	return f.ahead.Read(p)
}

// openDir lists on the first ReadDir and hands out from there.
type openDir struct {
	f      Files
	name   string
	info   fs.FileInfo
	listed bool
	left   []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: Errorf(Invalid, "is a directory")}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.listed {
		all, err := d.f.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.listed, d.left = true, all
	}
	if n <= 0 {
		n = len(d.left)
	} else if len(d.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.left))
	out := d.left[:n:n]
	d.left = d.left[n:]
	return out, nil
}

// fileInfo is the host's record as package fs wants it. Permission bits say
// nothing here: what may be done is decided when it is tried.
type fileInfo struct{ info wire.FileInfo }

func (i fileInfo) Name() string       { return i.info.Name }
func (i fileInfo) Size() int64        { return i.info.Size }
func (i fileInfo) ModTime() time.Time { return time.UnixMilli(i.info.ModUnixMS).UTC() }
func (i fileInfo) IsDir() bool        { return i.info.Kind == wire.FileDir }
func (i fileInfo) Sys() any           { return nil }

func (i fileInfo) Mode() fs.FileMode {
	switch i.info.Kind {
	case wire.FileRegular:
		return 0o644
	case wire.FileDir:
		return fs.ModeDir | 0o755
	}
	return fs.ModeIrregular
}
