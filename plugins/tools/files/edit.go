package main

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	maxEdited = 4 << 20 // bytes of a file, before and after
	maxCount  = 1000
)

// EditIn is one replacement.
type EditIn struct {
	Path    string `json:"path" minLength:"1" maxLength:"1024"`
	OldText string `json:"old_text" desc:"What to replace, exactly as in the file, with enough around it to be found once. No line numbers." minLength:"1" maxLength:"262144"`
	NewText string `json:"new_text" desc:"What to put there; empty to remove." maxLength:"262144"`
	Count   int    `json:"count,omitempty" desc:"How often old_text occurs; every occurrence is replaced." default:"1" minimum:"1" maximum:"1000"`
}

// EditOut is what changed.
type EditOut struct {
	Path          string `json:"path"`
	Replaced      int    `json:"replaced"`
	Bytes         int    `json:"bytes" desc:"Size of the file now."`
	SHA256        string `json:"sha256"`
	DiffTruncated bool   `json:"diff_truncated,omitempty"`
	Diff          string `json:"diff" desc:"Unified diff of the change."`
}

// Edit replaces text in a file. It writes only when old_text occurs exactly
// count times and in one way; otherwise the fault says where it is, or what is
// like it.
func Edit(_ context.Context, in EditIn, h sdk.Host) (EditOut, error) {
	name, err := cleanFile(in.Path)
	if err != nil {
		return EditOut{}, err
	}
	content, err := loadText(h.Files(), name)
	if err != nil {
		return EditOut{}, err
	}
	changed, edits, err := replace(content, in.OldText, in.NewText, in.Count)
	if err != nil {
		return EditOut{}, err
	}
	if len(changed) > maxEdited {
		return EditOut{}, sdk.Errorf(sdk.TooLarge, "%s would have %d bytes, at most %d can be edited", name, len(changed), maxEdited)
	}
	diff, err := udiff.ToUnified("a/"+name, "b/"+name, content, edits, udiff.DefaultContextLines)
	if err != nil {
		return EditOut{}, sdk.Errorf(sdk.Failed, "the change cannot be shown, so it was not made: %v", err)
	}
	if err := h.Files().WriteFile(name, []byte(changed), sdk.Replace); err != nil {
		return EditOut{}, err
	}
	out := EditOut{Path: name, Replaced: len(edits), Bytes: len(changed), SHA256: digest([]byte(changed)), Diff: diff}
	if len(diff) > maxShown {
		out.Diff, out.DiffTruncated = diff[:strings.LastIndexByte(diff[:maxShown], '\n')+1], true
	}
	return out, nil
}

// loadText reads a file that can be edited: of bounded size, and text.
func loadText(files sdk.Files, name string) (string, error) {
	info, err := files.Stat(name)
	if err != nil {
		return "", err
	}
	switch {
	case !info.Mode().IsRegular():
		return "", sdk.Errorf(sdk.Invalid, "%s is no file", name)
	case info.Size() > maxEdited:
		return "", sdk.Errorf(sdk.TooLarge, "%s has %d bytes, at most %d can be edited", name, info.Size(), maxEdited)
	}
	// One byte more than the bound shows a file that grew meanwhile.
	buf := make([]byte, maxEdited+1)
	n, err := files.ReadRange(name, buf, 0)
	switch {
	case err != nil:
		return "", err
	case n > maxEdited:
		return "", sdk.Errorf(sdk.TooLarge, "%s has more than %d bytes, which is all that can be edited", name, maxEdited)
	case !utf8.Valid(buf[:n]):
		return "", sdk.Errorf(sdk.Invalid, "%s is not text in UTF-8, so it cannot be edited", name)
	}
	return string(buf[:n]), nil
}

// replace puts new in every place of old and gives the edits that do so. In a
// file with CR LF line ends, plain line breaks of old and new mean those.
func replace(content, old, new string, count int) (string, []udiff.Edit, error) {
	if usesCRLF(content) && !strings.Contains(old+new, "\r") {
		old, new = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(new, "\n", "\r\n")
	}
	switch {
	case old == "":
		return "", nil, sdk.Errorf(sdk.Invalid, "old_text is empty; to make a file use files.write")
	case old == new:
		return "", nil, sdk.Errorf(sdk.Invalid, "old_text and new_text are the same, so there is nothing to do")
	case !utf8.ValidString(new):
		return "", nil, sdk.Errorf(sdk.Invalid, "new_text is not UTF-8")
	}
	at, overlap := occurrences(content, old)
	switch {
	case len(at) == 0:
		return "", nil, missing(content, old)
	case overlap:
		return "", nil, sdk.Errorf(sdk.Invalid, "old_text overlaps itself in the file, %s, so it is not clear which to replace; give more text around it", lines(content, at))
	case len(at) > maxCount:
		return "", nil, sdk.Errorf(sdk.Invalid, "old_text occurs more than %d times, which is the most that can be replaced; give more text around it", maxCount)
	case len(at) != count:
		return "", nil, sdk.Errorf(sdk.Invalid, "old_text occurs %d times, %s, and count is %d; give more text around it, or that count to replace all", len(at), lines(content, at), count)
	}
	var b strings.Builder
	edits := make([]udiff.Edit, len(at))
	done := 0
	for i, start := range at {
		end := start + len(old)
		edits[i] = udiff.Edit{Start: start, End: end, New: new}
		b.WriteString(content[done:start])
		b.WriteString(new)
		done = end
	}
	b.WriteString(content[done:])
	return b.String(), edits, nil
}

// usesCRLF is true when every line of s that ends ends with CR LF.
func usesCRLF(s string) bool {
	n := strings.Count(s, "\n")
	return n > 0 && n == strings.Count(s, "\r\n")
}

// occurrences finds old, overlapping itself or not, up to one more than
// [maxCount] times.
func occurrences(content, old string) (at []int, overlap bool) {
	for from := 0; len(at) <= maxCount; {
		i := strings.Index(content[from:], old)
		if i < 0 {
			break
		}
		i += from
		overlap = overlap || len(at) > 0 && i < at[len(at)-1]+len(old)
		at = append(at, i)
		from = i + 1
	}
	return at, overlap
}
