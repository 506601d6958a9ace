package main

import (
	"context"
	"errors"

	"github.com/b3abf3ee/portcullis/sdk"
)

// DeleteIn names a note and, to be sure, what was read of it.
type DeleteIn struct {
	ID      string `json:"id" minLength:"1" maxLength:"48"`
	Version string `json:"version,omitempty" desc:"Refuse when the note does not have this version any more." maxLength:"40"`
}

// DeleteOut is what is gone.
type DeleteOut struct {
	ID string `json:"id"`
}

// Delete removes a note in two steps, since the store cannot delete on a
// condition: it first empties the note, which fails when somebody changed it,
// and then removes the key. In between, and after a crash there, the note is
// gone for every tool, its id is not given out, and deleting it again removes
// the rest.
func Delete(_ context.Context, in DeleteIn, h sdk.Host) (DeleteOut, error) {
	if !validID(in.ID) {
		return DeleteOut{}, sdk.Errorf(sdk.Invalid, "%q is no id of a note; notes.find gives ids", clip(in.ID))
	}
	key := keyPrefix + in.ID
	value, version, err := h.KV().Get(key)
	if err != nil {
		return DeleteOut{}, absent(in.ID, err)
	}
	if len(value) > 0 {
		// A damaged note has no version, and can only be deleted without one.
		if n, err := decode(value); in.Version != "" && (err != nil || in.Version != n.revision(version)) {
			return DeleteOut{}, changed(in.ID)
		}
		_, err := h.KV().CompareAndSet(key, nil, version)
		if errors.Is(err, sdk.Conflict) {
			return DeleteOut{}, changed(in.ID)
		}
		if err != nil {
			return DeleteOut{}, err
		}
	}
	return DeleteOut{ID: in.ID}, h.KV().Delete(key)
}
