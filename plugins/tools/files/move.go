package main

import (
	"context"
	"errors"

	"github.com/b3abf3ee/portcullis/sdk"
)

// MoveIn is the old and the new path.
type MoveIn struct {
	From string `json:"from" desc:"File or directory to move." minLength:"1" maxLength:"1024"`
	To   string `json:"to" desc:"Its new path, with its name; directories above are made." minLength:"1" maxLength:"1024"`
}

// MoveOut is where it was and is.
type MoveOut struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Move renames within the workspace. The host would replace a file that is in
// the way, so Move looks first.
func Move(_ context.Context, in MoveIn, h sdk.Host) (MoveOut, error) {
	from, err := cleanFile(in.From)
	if err != nil {
		return MoveOut{}, err
	}
	to, err := cleanFile(in.To)
	if err != nil {
		return MoveOut{}, err
	}
	if _, err := h.Files().Stat(from); err != nil {
		return MoveOut{}, err
	}
	switch _, err := h.Files().Stat(to); {
	case err == nil:
		return MoveOut{}, sdk.Errorf(sdk.Exists, "%s is there already; choose another name, or delete it first", to)
	case !errors.Is(err, sdk.NotFound):
		return MoveOut{}, err
	}
	if err := makeParents(h.Files(), to); err != nil {
		return MoveOut{}, err
	}
	return MoveOut{From: from, To: to}, h.Files().Rename(from, to)
}

// DeleteIn is what to delete.
type DeleteIn struct {
	Path string `json:"path" desc:"A file, or a directory with nothing in it." minLength:"1" maxLength:"1024"`
}

// DeleteOut is what is gone.
type DeleteOut struct {
	Path string `json:"path"`
}

// Delete removes one file or empty directory; the host refuses a full one.
func Delete(_ context.Context, in DeleteIn, h sdk.Host) (DeleteOut, error) {
	name, err := cleanFile(in.Path)
	if err != nil {
		return DeleteOut{}, err
	}
	return DeleteOut{Path: name}, h.Files().Remove(name)
}
