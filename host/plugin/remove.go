package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Remove deletes one version, broken or not, and the id's folder with the last of them. A link is removed itself and not what
// it points to. Once it is out of sight it is gone, even if deleting its files fails: the error says so and List
// shows the leftover. The error is a [*MissingError] when it is not there.
func (f *Folder) Remove(ctx context.Context, id, version string) error {
	if !wire.ValidPluginID(id) || !wire.ValidVersion(version) {
		return &MissingError{ID: id, Version: version}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("plugin: remove %s %s: %w", id, version, err)
	}
	root, exists, err := f.open()
	if err != nil {
		return err
	}
	if !exists {
		return &MissingError{ID: id, Version: version}
	}
	defer root.Close()
	if info, err := root.Lstat(id); err == nil && !info.IsDir() {
		return &BrokenError{id, "", NotAFolder, "a file or link stands where a folder belongs"}
	}
	temp := gonePrefix + strings.ToLower(rand.Text())
	err = f.step("rename out of place")
	if err == nil {
		err = root.Rename(place(id, version), temp)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &MissingError{ID: id, Version: version, Have: versions(root, id)}
	}
	if err == nil {
		err = f.syncDir(root, id)
	}
	if err == nil {
		err = f.step("delete files")
	}
	if err == nil {
		err = root.RemoveAll(temp)
	}
	if err == nil {
		root.Remove(id) // goes only if it is empty
		err = f.syncDir(root, ".")
	}
	if err != nil {
		return fmt.Errorf("plugin: remove %s %s: %w", id, version, err)
	}
	return nil
}
