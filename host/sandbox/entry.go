package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// meteredName is the file of an entry that holds the metered module.
const meteredName = "module.wasm"

// touchEvery is how often the use of an entry is written down, for the sweep.
const touchEvery = time.Hour

// errNotGood says that a file of an entry is not the one its record pins, or not
// ours.
var errNotGood = errors.New("sandbox: compiled code is not what was written")

// read reads the record of a module.
func (c *codeCache) read(digest string) (record, bool) {
	f, err := openOwn(filepath.Join(c.dir, digest))
	if err != nil {
		return record{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecordBytes+1))
	if err != nil || len(data) > maxRecordBytes {
		return record{}, false
	}
	r, ok := decodeRecord(data)
	return r, ok && r.module == digest
}

// find reads the record of a module and looks at its files without reading them,
// which is left to [codeCache.verify]. That it was asked for is remembered for
// the sweep.
func (c *codeCache) find(digest string) (record, bool) {
	r, ok := c.read(digest)
	if !ok {
		return record{}, false
	}
	for _, mark := range []fileMark{r.wasm, r.code} {
		info, err := os.Lstat(filepath.Join(c.dir, r.folder, mark.Name))
		if err != nil || !ownFile(info) || info.Size() != mark.Bytes {
			return record{}, false
		}
	}
	path := filepath.Join(c.dir, digest)
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > touchEvery {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // a stale time costs an early sweep
	}
	return r, true
}

// verify reads both files of an entry against its record and returns the
// folder for the engine and the metered module. The folder holds the code that
// was read and no other, so that the engine can find nothing else.
func (c *codeCache) verify(r record) (folder string, wasm []byte, err error) {
	folder = filepath.Join(c.dir, r.folder)
	engine, name := filepath.Split(filepath.Clean(r.code.Name))
	if err := holdsOnly(folder, meteredName, filepath.Clean(engine)); err != nil {
		return "", nil, err
	}
	if err := holdsOnly(filepath.Join(folder, engine), name); err != nil {
		return "", nil, err
	}
	code := make(chan error, 1)
	go func() { code <- c.same(r.folder, r.code, nil) }() // reading is most of loading
	wasm = make([]byte, r.wasm.Bytes)
	err = c.same(r.folder, r.wasm, wasm)
	if err := errors.Join(<-code, err); err != nil {
		return "", nil, err
	}
	return folder, wasm, nil
}

// same says whether a file is ours and the one that was written. Its bytes are left in keep, unless that is nil.
func (c *codeCache) same(folder string, mark fileMark, keep []byte) error {
	f, err := openOwn(filepath.Join(c.dir, folder, mark.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return err
	case info.Size() != mark.Bytes:
		return errNotGood
	}
	digest, err := digestParts(f, mark.Bytes, keep)
	if err == nil && digest != mark.Digest {
		err = errNotGood
	}
	return err
}

// openOwn opens a regular file that belongs to us and that nobody else can
// write, without following a link at its end.
func openOwn(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !ownFile(before) {
		return nil, errNotGood
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil || !ownFile(after) || !os.SameFile(before, after) {
		f.Close()
		return nil, errors.Join(errNotGood, err)
	}
	return f, nil
}

func ownFile(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && !writableByOthers(info) && ownedByUs(info)
}

// holdsOnly refuses a folder that is not ours alone or holds anything but names.
func holdsOnly(dir string, names ...string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || writableByOthers(info) || !ownedByUs(info) {
		return errNotGood
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range found {
		if !slices.Contains(names, f.Name()) {
			return errNotGood
		}
	}
	return nil
}
