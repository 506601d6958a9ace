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
// The errors are those of Install without the [*ConflictError]. At every
// moment one of the two is there, except where the system cannot exchange two folders in one step (neither Linux nor macOS, or a file
// system that cannot): there a crash between two renames leaves neither in sight, and installing again helps.
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
	id, version := src.manifest.ID, src.manifest.Version
	temp := newPrefix + strings.ToLower(rand.Text())
	err := f.write(ctx, root, temp, src)
	if err == nil {
		err = f.step("change places")
	}
	if err == nil {
		err = f.changePlaces(root, temp, id, version)
	}
	if err == nil {
		if err = errors.Join(f.syncDir(root, id), f.syncDir(root, ".")); err != nil { // the old one comes back
			err = errors.Join(err, f.changePlaces(root, temp, id, version))
		}
	}
	if gone := root.RemoveAll(temp); err != nil {
		return errors.Join(err, gone)
	}
	return nil
}

// changePlaces has a hidden folder and an installed version stand for each other: in one step, where the system can.
func (f *Folder) changePlaces(root *os.Root, temp, id, version string) error {
	if f.inOneStep(root, temp, id, version) == nil {
		return nil
	}
	target, aside := place(id, version), gonePrefix+strings.ToLower(rand.Text())
	err := f.step("rename out of place")
	if err == nil {
		err = root.Rename(target, aside)
	}
	if err != nil {
		return err
	}
	if err = f.step("rename into place"); err == nil {
		err = root.Rename(temp, target)
	}
	if err != nil {
		return errors.Join(err, root.Rename(aside, target))
	}
	return root.Rename(aside, temp)
}

// inOneStep is changePlaces without a moment at which neither is there. It is all or nothing.
func (f *Folder) inOneStep(root *os.Root, temp, id, version string) error {
	outer, err := root.Open(".")
	if err != nil {
		return err
	}
	defer outer.Close()
	inner, err := root.Open(id)
	if err != nil {
		return err
	}
	defer inner.Close()
	return f.exchange(outer, temp, inner, version)
}
