package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/b3abf3ee/portcullis/sdk"
)

// SaveIn is a new note, or what changes in one.
type SaveIn struct {
	ID      string    `json:"id,omitempty" desc:"The note to change; left out, a new one is made." maxLength:"48"`
	Version string    `json:"version,omitempty" desc:"With id: the version that notes.read gave." maxLength:"40"`
	Title   *string   `json:"title,omitempty" desc:"One line. A new note needs it." minLength:"1" maxLength:"200"`
	Body    *string   `json:"body,omitempty" maxLength:"24576"`
	Tags    *[]string `json:"tags,omitempty" desc:"Words to find the note by, such as project-x. Given, they replace all tags of the note." maxLength:"41"`
}

// SaveOut is the note that was written.
type SaveOut struct {
	ID      string `json:"id"`
	Version string `json:"version" desc:"For the next change."`
	Created bool   `json:"created" desc:"False when a note was changed."`
}

// Save makes or changes a note. The same call repeated finds its own work and
// answers as the first time, which makes it idempotent.
func Save(ctx context.Context, in SaveIn, h sdk.Host) (SaveOut, error) {
	if in.ID != "" {
		return change(ctx, in, h)
	}
	if in.Title == nil || in.Version != "" {
		return SaveOut{}, sdk.Errorf(sdk.Invalid, "a new note needs a title and has no version; to change a note give its id")
	}
	now := h.Now().UnixMilli()
	n := note{CreatedMS: now, UpdatedMS: now, Call: sdk.CallID(ctx)}
	in.apply(&n)
	if err := n.check(); err != nil {
		return SaveOut{}, err
	}
	if err := room(h.KV()); err != nil {
		return SaveOut{}, err
	}
	return create(h.KV(), n)
}

// apply puts what was given into n.
func (in SaveIn) apply(n *note) {
	if in.Title != nil {
		n.Title = *in.Title
	}
	if in.Body != nil {
		n.Body = *in.Body
	}
	if in.Tags != nil {
		n.Tags = normalTags(*in.Tags)
	}
}

// room refuses one note more than there may be. Two calls at once may both find
// room for the last; the bound is for order, not for safety.
func room(kv sdk.KV) error {
	count := 0
	for _, err := range kv.List(keyPrefix) {
		if err != nil {
			return err
		}
		if count++; count >= maxNotes {
			return sdk.Errorf(sdk.TooLarge, "there are %d notes, which is the most; delete some first", maxNotes)
		}
	}
	return nil
}

// create writes n under the first id of its title that is free. Whoever comes
// second to an id gets the next, so nobody's note is overwritten.
func create(kv sdk.KV, n note) (SaveOut, error) {
	base := newID(n.Title)
	id := base
	for i := 2; i <= maxNotes+1; i++ {
		version, err := put(kv, id, n, 0)
		if err == nil {
			return SaveOut{ID: id, Version: n.revision(version), Created: true}, nil
		}
		if !errors.Is(err, sdk.Conflict) {
			return SaveOut{}, err
		}
		if out, mine := written(kv, id, n); mine {
			return out, nil
		}
		id = base + "-" + strconv.Itoa(i)
	}
	return SaveOut{}, sdk.Errorf(sdk.Exists, "too many notes have this title; choose another")
}

// change writes over the version that the caller read.
func change(ctx context.Context, in SaveIn, h sdk.Host) (SaveOut, error) {
	if in.Version == "" {
		return SaveOut{}, sdk.Errorf(sdk.Invalid, "changing a note needs the version that notes.read gave, so that no other change is lost")
	}
	n, version, err := fetch(h.KV(), in.ID)
	if err != nil {
		return SaveOut{}, err
	}
	before := n
	in.apply(&n)
	if err := n.check(); err != nil {
		return SaveOut{}, err
	}
	n.Call = sdk.CallID(ctx)
	if before.revision(version) != in.Version {
		if before.Call != "" && before.Call == n.Call && before.same(n) {
			return SaveOut{ID: in.ID, Version: n.revision(version)}, nil // this very call, repeated
		}
		return SaveOut{}, changed(in.ID)
	}
	n.UpdatedMS = h.Now().UnixMilli()
	written, err := put(h.KV(), in.ID, n, version)
	if errors.Is(err, sdk.Conflict) {
		return SaveOut{}, changed(in.ID)
	}
	return SaveOut{ID: in.ID, Version: n.revision(written)}, err
}

func changed(id string) error {
	return sdk.Errorf(sdk.Conflict, "note %s was changed since that version; read it again and make the change in what it has now", id)
}

// put stores n when the key still has the version expected, 0 for none.
func put(kv sdk.KV, id string, n note, expected int64) (int64, error) {
	value, err := noteJSON.Encode(n)
	if err != nil {
		return 0, err
	}
	return kv.CompareAndSet(keyPrefix+id, value, expected)
}

// written finds n at id, when the same call wrote it there before.
func written(kv sdk.KV, id string, n note) (SaveOut, bool) {
	have, version, err := fetch(kv, id)
	if err != nil || n.Call == "" || have.Call != n.Call || !have.same(n) {
		return SaveOut{}, false
	}
	return SaveOut{ID: id, Version: have.revision(version), Created: true}, true
}
