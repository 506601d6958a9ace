package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Entry is one thing below plugins/. Exactly one of Installed and Broken is set.
type Entry struct {
	ID, Version string // the names of the folders, whatever they are
	Installed   *Installed
	Broken      *BrokenError
}

// List verifies and describes everything below plugins/, by id and then version, newest last. What is not an
// installed plugin is an entry with its reason: nothing is left out. An error means that the folder could not be
// read at all, or that ctx ended.
func (f *Folder) List(ctx context.Context) ([]Entry, error) {
	root, exists, err := f.open()
	if err != nil || !exists {
		return nil, err
	}
	defer root.Close()
	ids, err := entries(root, ".")
	if err != nil {
		return nil, fmt.Errorf("plugin: list %s: %w", f.path, err)
	}
	var out []Entry
	for _, id := range ids {
		switch name := id.Name(); {
		case strings.HasPrefix(name, newPrefix), strings.HasPrefix(name, gonePrefix):
			out = append(out, brokenEntry(name, "", Unfinished, "an install or removal was interrupted"))
		case !wire.ValidPluginID(name):
			out = append(out, brokenEntry(name, "", NotAPlugin, "no plugin has such a name"))
		case !id.IsDir():
			out = append(out, brokenEntry(name, "", NotAFolder, "a file or link stands where a folder belongs"))
		default:
			found, err := f.listID(ctx, root, name)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	slices.SortStableFunc(out, byIDThenVersion)
	return out, nil
}

func (f *Folder) listID(ctx context.Context, root *os.Root, id string) ([]Entry, error) {
	found, err := entries(root, id)
	if err != nil {
		return nil, fmt.Errorf("plugin: list %s of %s: %w", id, f.path, err)
	}
	var out []Entry
	for _, v := range found {
		version := v.Name()
		if !wire.ValidVersion(version) {
			out = append(out, brokenEntry(id, version, NotAPlugin, "no version has such a name"))
			continue
		}
		o, err := f.read(ctx, root, id, version)
		var broken *BrokenError
		var missing *MissingError
		switch {
		case err == nil:
			out = append(out, Entry{ID: id, Version: version, Installed: &o.Installed})
		case errors.As(err, &broken):
			out = append(out, Entry{ID: id, Version: version, Broken: broken})
		case errors.As(err, &missing): // removed since the listing
		default:
			return nil, err
		}
	}
	return out, nil
}

func brokenEntry(id, version string, r Reason, detail string) Entry {
	return Entry{ID: id, Version: version, Broken: &BrokenError{id, version, r, detail}}
}
