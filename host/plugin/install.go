package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// leftoverAge is how much older than a new install a hidden folder must be to count as left behind. Another
// process may be installing right now; none takes an hour.
const leftoverAge = time.Hour

// Install puts the plugin at from, a folder with plugin.json or the path of that file, under its id and version.
// What is installed already with the same content stays as it is and is returned: installing twice is fine.
//
// The error is a [*SourceError] when from is not a plugin, a [*ConflictError] when the version is there with another
// content, a [*BrokenError] when it is there and broken, or our own trouble (disk full, not writable, ctx ended). After any
// error nothing of the new plugin is visible.
func (f *Folder) Install(ctx context.Context, from string) (Installed, error) {
	src, err := readSource(ctx, from)
	if err != nil {
		return Installed{}, err
	}
	root, err := f.make()
	if err != nil {
		return Installed{}, err
	}
	defer root.Close()
	if in, done, err := f.present(ctx, root, src); done || err != nil {
		return in, err
	}
	return f.put(ctx, root, src)
}

// put installs src where nothing is installed under its name.
func (f *Folder) put(ctx context.Context, root *os.Root, src source) (Installed, error) {
	temp := newPrefix + strings.ToLower(rand.Text())
	err := f.write(ctx, root, temp, src)
	if err == nil {
		err = f.publish(root, temp, src)
	}
	if err != nil {
		root.RemoveAll(temp)
		root.Remove(src.manifest.ID) // goes only if it is empty
		// The folder that was not there a moment ago may be another installer's.
		if in, done, again := f.present(ctx, root, src); done || again != nil {
			return in, again
		}
		return Installed{}, fmt.Errorf("plugin: install %s %s: %w", src.manifest.ID, src.manifest.Version, err)
	}
	f.sweep(root)
	o, err := f.read(ctx, root, src.manifest.ID, src.manifest.Version)
	return o.Installed, err
}

// make opens plugins/, made if it was not there.
func (f *Folder) make() (*os.Root, error) {
	root, exists, err := f.open()
	if err != nil || exists {
		return root, err
	}
	if err := f.step("make plugins folder"); err != nil {
		return nil, fmt.Errorf("plugin: make %s: %w", f.path, err)
	}
	if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("plugin: make %s (does its home exist? run `portcullis init`): %w", f.path, err)
	}
	root, exists, err = f.open()
	if err == nil && !exists {
		err = fmt.Errorf("plugin: make %s: %w", f.path, fs.ErrNotExist)
	}
	return root, err
}

// present answers for a version that is there already. done is false when it is not there.
func (f *Folder) present(ctx context.Context, root *os.Root, src source) (in Installed, done bool, err error) {
	o, err := f.read(ctx, root, src.manifest.ID, src.manifest.Version)
	var missing *MissingError
	switch {
	case errors.As(err, &missing):
		return Installed{}, false, nil
	case err != nil:
		return Installed{}, false, err
	case o.Digest != src.digest:
		return Installed{}, false, &ConflictError{o.ID, o.Version, o.Digest, src.digest}
	}
	return o.Installed, true, nil
}

// write fills a hidden folder with the plugin's two files and syncs all three.
func (f *Folder) write(ctx context.Context, root *os.Root, temp string, src source) error {
	if err := f.step("make hidden folder"); err != nil {
		return err
	}
	if err := root.Mkdir(temp, 0o700); err != nil {
		return err
	}
	if err := root.Chmod(temp, 0o700); err != nil { // the umask may have taken from it
		return err
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{WasmName, src.wasm}, {manifest.FileName, src.text}} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.writeFile(root, filepath.Join(temp, file.name), file.data); err != nil {
			return err
		}
	}
	return f.syncDir(root, temp)
}

func (f *Folder) writeFile(root *os.Root, name string, data []byte) (err error) {
	base := filepath.Base(name)
	if err := f.step("create " + base); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Chmod(0o600); err != nil {
		return err
	}
	if err := f.step("write " + base); err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := f.step("sync " + base); err != nil {
		return err
	}
	return file.Sync()
}

// publish makes the hidden folder the installed one. The rename is the moment it is installed; what may fail after
// it is only the promise that a power cut keeps it, and then it is taken back.
func (f *Folder) publish(root *os.Root, temp string, src source) error {
	id, target := src.manifest.ID, place(src.manifest.ID, src.manifest.Version)
	if err := f.step("make id folder"); err != nil {
		return err
	}
	if err := root.Mkdir(id, 0o700); err == nil {
		err = root.Chmod(id, 0o700)
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := f.step("rename into place"); err != nil {
		return err
	}
	if err := root.Rename(temp, target); err != nil {
		return err
	}
	err := f.syncDir(root, id)
	if err == nil {
		err = f.syncDir(root, ".")
	}
	if err != nil {
		if back := root.Rename(target, temp); back != nil {
			return errors.Join(err, back)
		}
	}
	return err
}

// syncDir makes the names in a folder survive a power cut.
func (f *Folder) syncDir(root *os.Root, name string) error {
	what := name
	if strings.HasPrefix(name, ".") && name != "." {
		what = "hidden"
	}
	if err := f.step("sync folder " + what); err != nil {
		return err
	}
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// sweep deletes what interrupted installs and removals left. Its failures are not the installer's business: List
// still shows the leftover.
func (f *Folder) sweep(root *os.Root) {
	found, err := entries(root, ".")
	if err != nil {
		return
	}
	now, err := root.Stat(".")
	if err != nil {
		return
	}
	for _, e := range found {
		if !strings.HasPrefix(e.Name(), newPrefix) && !strings.HasPrefix(e.Name(), gonePrefix) {
			continue
		}
		info, err := e.Info()
		if err == nil && now.ModTime().Sub(info.ModTime()) > leftoverAge { // both by the file system's clock
			root.RemoveAll(e.Name())
		}
	}
}
