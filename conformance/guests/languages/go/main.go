// Package main is the guest of all languages, in Go with the sdk: it counts words, shows what it still knows of other
// calls, and goes wrong on request. Its siblings in other languages lie beside it.
package main

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

func init() {
	sdk.Register(sdk.Plugin{
		ID: "go", Version: "1.0.0", License: "Apache-2.0", Summary: "Counts words.",
		Limits: sdk.Limits{MemoryBytes: 16 << 20, DeadlineMS: 5000},
		Tools: []sdk.ToolSpec{
			sdk.Tool("go.count", "Count the words of a text and find its longest.", Count, sdk.ReadOnly()),
			sdk.Tool("go.fault", "Go wrong in one way.", Fault, sdk.ReadOnly()),
		},
	})
}

// main never runs: the host calls the exports of the module.
func main() {}

// What would show if one call could see another: a variable, and what it keeps on the heap.
var (
	calls int
	notes []string
	deep  int
)

// CountIn is the text.
type CountIn struct {
	Text string `json:"text"`
}

// CountOut is what was found, and what the guest still knows.
type CountOut struct {
	Words   int    `json:"words"`
	Longest string `json:"longest"`
	Calls   int    `json:"calls"`
	Kept    int    `json:"kept"`
}

// Count counts words.
func Count(_ context.Context, in CountIn, _ sdk.Host) (CountOut, error) {
	calls++
	notes = append(notes, strings.Clone(in.Text))
	words := strings.FieldsFunc(in.Text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' })
	out := CountOut{Words: len(words), Calls: calls, Kept: len(notes)}
	for _, w := range words {
		if utf8.RuneCountInString(w) > utf8.RuneCountInString(out.Longest) {
			out.Longest = w
		}
	}
	return out, nil
}

// FaultIn says how to go wrong.
type FaultIn struct {
	How  string `json:"how" enum:"fault|fail|break|spin|hoard|recurse"`
	Text string `json:"text"`
}

// Fault goes wrong.
func Fault(_ context.Context, in FaultIn, _ sdk.Host) (struct{}, error) {
	switch in.How {
	case "fault":
		return struct{}{}, sdk.Errorf(sdk.Invalid, "%s", in.Text)
	case "break":
		panic(in.Text)
	case "spin":
		for {
			deep++
		}
	case "hoard":
		for {
			notes = append(notes, strings.Repeat("x", 1<<20))
		}
	case "recurse":
		recurse(0)
	}
	return struct{}{}, errors.New(in.Text)
}

func recurse(n int) int {
	deep = n
	if n < 0 {
		return 0
	}
	return recurse(n+1) ^ deep
}
