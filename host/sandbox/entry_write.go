package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// write makes an entry: the metered module in a new folder, machine code beside
// it by compile, and last the record, whose renaming is what makes it an entry.
// What failed half-way is removed; what a killed process left, the sweep removes.
func (c *codeCache) write(digest string, m readyModule, compile func(folder string) error) (r record, err error) {
	folder, err := os.MkdirTemp(c.dir, digest+".") // made with mode 0700
	if err != nil {
		return record{}, &diskError{err}
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(folder)
		}
	}()
	r = record{module: digest, folder: filepath.Base(folder), facts: m.declares}
	if err = os.WriteFile(filepath.Join(folder, meteredName), m.code, 0o600); err != nil {
		return record{}, &diskError{err}
	}
	r.wasm = fileMark{Name: meteredName, Bytes: int64(len(m.code))}
	if r.wasm.Digest, err = digestParts(bytes.NewReader(m.code), r.wasm.Bytes, nil); err != nil {
		return record{}, err
	}
	if err = compile(folder); err != nil {
		return record{}, err
	}
	if r.code, err = newCode(folder); err != nil {
		return record{}, &diskError{err}
	}
	if r.stack, err = stackIn(folder, r.code.Name, m.frames); err != nil {
		return record{}, err
	}
	old, replaces := c.find(digest)
	if err = c.publish(r); err != nil {
		return record{}, &diskError{err}
	}
	if replaces {
		_ = os.RemoveAll(filepath.Join(c.dir, old.folder))
	}
	return r, nil
}

// diskError says that the cache folder could not be used.
type diskError struct{ err error }

func (e *diskError) Error() string { return "sandbox: write compiled code: " + e.err.Error() }
func (e *diskError) Unwrap() error { return e.err }

// newCode finds the one file that the compiler left and pins it.
func newCode(folder string) (fileMark, error) {
	found, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil || len(found) != 1 {
		return fileMark{}, errors.Join(fmt.Errorf("the compiler left %d files", len(found)), err)
	}
	name, err := filepath.Rel(folder, found[0])
	if err != nil {
		return fileMark{}, err
	}
	f, err := openOwn(found[0])
	if err != nil {
		return fileMark{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fileMark{}, err
	}
	digest, err := digestParts(f, info.Size(), nil)
	return fileMark{name, info.Size(), digest}, err
}

// publish writes the record by rename, so that another process never sees half
// of it.
func (c *codeCache) publish(r record) (err error) {
	data, err := r.encode()
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(c.dir, ".new-*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(c.dir, r.module))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// forget removes an entry that turned out not to be good, so that it is made
// anew; one that another process has made meanwhile stays.
func (c *codeCache) forget(r record) {
	if now, ok := c.read(r.module); ok && now.folder != r.folder {
		return
	}
	_ = os.Remove(filepath.Join(c.dir, r.module))
	_ = os.RemoveAll(filepath.Join(c.dir, r.folder))
}
