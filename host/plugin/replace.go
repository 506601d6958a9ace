package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Former is what gave way to a plugin of the same id and version. The zero Former is nothing.
type Former struct {
	Digest string // of the plugin that was whole
	Broken Reason // why the other was not
}

// Replace is [Folder.Install] that also puts the plugin in the place of one of the same version that has another content or
// is broken. The new one is written whole before the old one moves; after an error on the way the old one is there as it was. What
// is in its place is read once more: an error of that leaves the new one there, and Replace again returns it, or puts it anew.
// The errors are those of Install without the [*ConflictError]. A crash between the two renames leaves neither in sight: install again.
func (f *Folder) Replace(ctx context.Context, from string) (Installed, Former, error) {
	src, err := readSource(ctx, from)
	if err != nil {
		return Installed{}, Former{}, err
	}
	root, err := f.make()
	if err != nil {
		return Installed{}, Former{}, err
	}
	defer root.Close()
	in, done, err := f.present(ctx, root, src)
	var (
		old      Former
		conflict *ConflictError
		broken   *BrokenError
	)
	switch {
	case errors.As(err, &conflict):
		old.Digest = conflict.Installed
	case errors.As(err, &broken) && broken.Version != "":
		old.Broken = broken.Reason
	case err != nil || done:
		return in, Former{}, err
	default:
		in, err = f.put(ctx, root, src)
		return in, Former{}, err
	}
	if err := f.swap(ctx, root, src); err != nil {
		return Installed{}, Former{}, fmt.Errorf("plugin: replace %s %s: %w", src.manifest.ID, src.manifest.Version, err)
	}
	o, err := f.read(ctx, root, src.manifest.ID, src.manifest.Version)
	return o.Installed, old, err
}

// swap puts src in the place of what is installed under its name. Deleting that may fail: it is out of sight then, and List shows it.
func (f *Folder) swap(ctx context.Context, root *os.Root, src source) error {
	id, target := src.manifest.ID, place(src.manifest.ID, src.manifest.Version)
	temp, gone := newPrefix+strings.ToLower(rand.Text()), gonePrefix+strings.ToLower(rand.Text())
	err := f.write(ctx, root, temp, src)
	if err == nil {
		err = f.step("rename out of place")
	}
	if err == nil {
		err = root.Rename(target, gone)
	}
	if err != nil {
		root.RemoveAll(temp)
		return err
	}
	if err = f.step("rename into place"); err == nil {
		err = root.Rename(temp, target)
	}
	if err == nil {
		err = errors.Join(f.syncDir(root, id), f.syncDir(root, "."))
	}
	if err != nil { // the old one comes back; temp is free if the new one had its place
		_ = root.Rename(target, temp)
		back := root.Rename(gone, target)
		root.RemoveAll(temp)
		return errors.Join(err, back)
	}
	root.RemoveAll(gone)
	return nil
}
