package main

import (
	"context"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/b3abf3ee/portcullis/sdk"
)

// DiffIn is two texts and how to show the way from one to the other.
type DiffIn struct {
	Old     string `json:"old" maxLength:"524288"`
	New     string `json:"new" maxLength:"524288"`
	OldName string `json:"old_name,omitempty" default:"old" maxLength:"200" pattern:"^[^\\r\\n]*$"`
	NewName string `json:"new_name,omitempty" default:"new" maxLength:"200" pattern:"^[^\\r\\n]*$"`
	Context int    `json:"context,omitempty" desc:"Unchanged lines around each change." default:"3" minimum:"0" maximum:"20"`
}

// DiffOut is a unified diff and its size.
type DiffOut struct {
	Equal     bool   `json:"equal"`
	Added     int    `json:"added" desc:"Lines that only the new text has."`
	Removed   int    `json:"removed" desc:"Lines that only the old text has."`
	Truncated bool   `json:"truncated,omitempty" desc:"True when the diff was cut; the counts are of the whole."`
	Diff      string `json:"diff" desc:"Unified diff, empty when the texts are equal."`
}

// Diff compares two texts by lines. The search for the shortest diff gives up
// on texts that are very different and then shows a longer one, so it ends soon
// whatever the texts are.
func Diff(_ context.Context, in DiffIn, _ sdk.Host) (DiffOut, error) {
	if err := fits("old", in.Old); err != nil {
		return DiffOut{}, err
	}
	if err := fits("new", in.New); err != nil {
		return DiffOut{}, err
	}
	if in.Old == in.New {
		return DiffOut{Equal: true}, nil
	}
	text, err := udiff.ToUnified(in.OldName, in.NewName, in.Old, udiff.Lines(in.Old, in.New), in.Context)
	if err != nil {
		return DiffOut{}, sdk.Errorf(sdk.Failed, "the texts cannot be compared: %v", err)
	}
	out := DiffOut{Diff: text}
	out.Added, out.Removed = changed(text)
	if len(text) > maxResult {
		out.Diff = text[:strings.LastIndexByte(text[:maxResult], '\n')+1]
		out.Truncated = true
	}
	return out, nil
}

// changed counts the lines of a unified diff that begin with + and with -,
// without the two lines of names at the top.
func changed(diff string) (added, removed int) {
	header := 2
	for line := range strings.Lines(diff) {
		switch {
		case header > 0:
			header--
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return added, removed
}
