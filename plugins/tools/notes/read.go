package main

import (
	"context"
	"errors"

	"github.com/b3abf3ee/portcullis/sdk"
)

// ReadIn names a note.
type ReadIn struct {
	ID string `json:"id" desc:"As notes.find or notes.save gave it." minLength:"1" maxLength:"48"`
}

// ReadOut is a whole note.
type ReadOut struct {
	ID      string   `json:"id"`
	Version string   `json:"version" desc:"Changing the note needs it."`
	Title   string   `json:"title"`
	Tags    []string `json:"tags"`
	Created string   `json:"created"`
	Updated string   `json:"updated"`
	Body    string   `json:"body"`
}

// Read gives a note.
func Read(_ context.Context, in ReadIn, h sdk.Host) (ReadOut, error) {
	n, version, err := fetch(h.KV(), in.ID)
	if err != nil {
		return ReadOut{}, absent(in.ID, err)
	}
	return ReadOut{
		ID: in.ID, Version: n.revision(version), Title: n.Title, Body: n.Body, Tags: n.Tags,
		Created: moment(n.CreatedMS), Updated: moment(n.UpdatedMS),
	}, nil
}

// absent says what to do about a note that is not there.
func absent(id string, err error) error {
	if errors.Is(err, sdk.NotFound) {
		return sdk.Errorf(sdk.NotFound, "there is no note %s; notes.find gives ids", id)
	}
	return err
}
