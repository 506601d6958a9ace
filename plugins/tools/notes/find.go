package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	maxFound   = 100
	maxExcerpt = 200 // bytes
)

// FindIn is what to look for.
type FindIn struct {
	Query string `json:"query,omitempty" desc:"Words that must all occur; case does not matter." maxLength:"200"`
	Tag   string `json:"tag,omitempty" maxLength:"41"`
	Limit int    `json:"limit,omitempty" default:"20" minimum:"1" maximum:"100"`
}

// FindOut is the notes found, changed last first.
type FindOut struct {
	Total      int     `json:"total" desc:"Notes that match, shown or not."`
	Unreadable int     `json:"unreadable,omitempty" desc:"Notes that are damaged and were left out."`
	Notes      []Found `json:"notes"`
}

// Found is one note in short.
type Found struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Tags    []string `json:"tags"`
	Updated string   `json:"updated"`
	Excerpt string   `json:"excerpt" desc:"Text around the first word found, or the beginning."`
}

// Find reads every note, since the store knows keys only. The bounds of the
// store keep that to a few megabytes.
func Find(ctx context.Context, in FindIn, h sdk.Host) (FindOut, error) {
	words := strings.Fields(strings.ToLower(in.Query))
	tag := normalTag(in.Tag)
	type hit struct {
		found Found
		ms    int64
	}
	var hits []hit
	var out FindOut
	for e, err := range h.KV().List(keyPrefix) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return FindOut{}, err
		}
		id := strings.TrimPrefix(e.Key, keyPrefix)
		n, _, err := fetch(h.KV(), id)
		switch {
		case errors.Is(err, sdk.NotFound): // deleted meanwhile
			continue
		case errors.Is(err, sdk.Failed):
			h.Log(sdk.LevelWarn, "a note cannot be read", "id", id)
			out.Unreadable++
			continue
		case err != nil:
			return FindOut{}, err
		}
		if (tag == "" || slices.Contains(n.Tags, tag)) && n.has(words) {
			hits = append(hits, hit{Found{ID: id, Title: n.Title, Tags: n.Tags, Updated: moment(n.UpdatedMS), Excerpt: excerpt(n.Body, words)}, n.UpdatedMS})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.ms, a.ms), cmp.Compare(a.found.ID, b.found.ID))
	})
	out.Total = len(hits)
	for _, h := range hits[:min(len(hits), max(1, min(in.Limit, maxFound)))] {
		out.Notes = append(out.Notes, h.found)
	}
	return out, nil
}

// has reports whether every word, in lower case, is somewhere in the note.
func (n note) has(words []string) bool {
	all := strings.ToLower(n.Title + "\n" + n.Body + "\n" + strings.Join(n.Tags, "\n"))
	for _, w := range words {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return true
}

// excerpt is one line from the body with the first of words in it.
func excerpt(body string, words []string) string {
	start := 0
	lower := strings.ToLower(body)
	for _, w := range words {
		// Lower case may have another length; then the place is not known and
		// the beginning has to do.
		if i := strings.Index(lower, w); i >= 0 && len(lower) == len(body) {
			start = max(0, i-maxExcerpt/4)
			break
		}
	}
	end := min(len(body), start+maxExcerpt)
	for start > 0 && !utf8.RuneStart(body[start]) {
		start--
	}
	for end < len(body) && !utf8.RuneStart(body[end]) {
		end--
	}
	text := strings.Join(strings.Fields(body[start:end]), " ")
	if start > 0 {
		text = "…" + text
	}
	if end < len(body) {
		text += "…"
	}
	return text
}
