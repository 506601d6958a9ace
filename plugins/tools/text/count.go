package main

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

// CountIn is a text and a piece of it.
type CountIn struct {
	Text string `json:"text" maxLength:"524288"`
	Find string `json:"find,omitempty" desc:"Also count how often this occurs, exactly as written and not overlapping." maxLength:"4096"`
}

// CountOut is what was counted.
type CountOut struct {
	Bytes       int  `json:"bytes" desc:"Length in UTF-8."`
	Characters  int  `json:"characters" desc:"Unicode code points."`
	Words       int  `json:"words" desc:"Runs of characters that are not space."`
	Lines       int  `json:"lines" desc:"The last counts with or without a line break at its end."`
	Occurrences *int `json:"occurrences,omitempty"`
}

// Count counts.
func Count(_ context.Context, in CountIn, _ sdk.Host) (CountOut, error) {
	if err := fits("text", in.Text); err != nil {
		return CountOut{}, err
	}
	out := CountOut{Bytes: len(in.Text), Characters: utf8.RuneCountInString(in.Text)}
	for range strings.FieldsSeq(in.Text) {
		out.Words++
	}
	for range strings.Lines(in.Text) {
		out.Lines++
	}
	if in.Find != "" {
		n := strings.Count(in.Text, in.Find)
		out.Occurrences = &n
	}
	return out, nil
}
