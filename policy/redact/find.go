package redact

import (
	"bytes"
	"errors"
	"slices"
)

// span is a part of a text that a mark stands for: bytes start to end, and the index of the mark.
type span struct{ start, end, mark int }

// depth is how many encodings deep a value is looked for: base64 of a percent-encoded JSON string is three.
const depth = 3

// errEffort is the refusal of a text that was built to make the search expensive.
var errEffort = errors.New("the text is encoded in too many ways to be searched")

// finder looks for known values in a text and in everything the text decodes to. It is made for one Build.
type finder struct {
	matchers []*matcher
	shortest int  // bytes of the shortest form of any matcher
	spaces   bool // some value holds a space
	effort   int  // bytes that may still be looked at
}

// effort is how many bytes may be searched for each byte of a text. Prose and code take 5 to 15 with everything
// that they could be decoded to; a text that is built to be decoded in every way at every level takes 60.
const effort = 40

// newFinder is a finder for texts of size bytes in all.
func newFinder(size int) finder { return finder{effort: effort*size + 1<<18} }

// add makes the finder look for the values of c too.
func (f *finder) add(c *compiled) {
	if len(f.matchers) == 0 || c.values.shortest < f.shortest {
		f.shortest = c.values.shortest
	}
	f.matchers = append(f.matchers, c.values)
	f.spaces = f.spaces || c.spaces
}

// find returns the spans of known values in text and in what it stands for, levels encodings deep. When the effort
// runs out it panics with errEffort, which Build turns into a failure of all views: what was not searched is not
// shown.
func (f *finder) find(text []byte, levels int) []span {
	out := f.search(text, nil)
	if levels > 0 && len(f.matchers) > 0 && len(text) >= f.shortest {
		out = f.layers(text, levels, out)
	}
	return out
}

func (f *finder) search(text []byte, out []span) []span {
	if len(f.matchers) == 0 || len(text) < f.shortest {
		return out
	}
	if f.effort -= len(text); f.effort < 0 {
		panic(errEffort)
	}
	for _, m := range f.matchers {
		out = m.search(text, out)
	}
	return out
}

// layers looks into what text stands for. All escapes are taken off together, which is how they mix in practice;
// where several kinds were met each is also taken off alone, for a value that itself looks escaped.
func (f *finder) layers(text []byte, levels int, out []span) []span {
	d := unescape(text, common)
	if d.text != nil {
		out = d.back(f.find(d.text, levels-1), out)
		met := d.met
		if met&backslash != 0 && bytes.Contains(text, []byte(`'\''`)) { // behind a backslash it is not seen for what it is
			met |= quotes
		}
		for kind := percent; kind < plus && met&(met-1) != 0; kind <<= 1 {
			if met&kind != 0 {
				alone, deeper := unescape(text, kind), 0
				if kind&(quotes|entity) != 0 { // seldom met with others, and a backslash before one looks like an escape of it
					deeper = levels - 1
				}
				out = alone.back(f.find(alone.text, deeper), out)
			}
		}
	}
	if f.spaces {
		if d := unescape(text, percent|plus); d.met&plus != 0 {
			out = d.back(f.find(d.text, levels-1), out)
		}
	}
	return f.runs(text, levels, out)
}

// decoded looks into bytes that a run of base64 or hex stands for. Only stretches that read as text are decoded
// further: the wrong alignments of a run, and binary data, give noise.
func (f *finder) decoded(data []byte, levels int) []span {
	out := f.search(data, nil)
	if levels <= 1 {
		return out
	}
	for i := 0; i < len(data); i++ {
		start := i
		for i < len(data) && (data[i] >= ' ' && data[i] < 0x7f || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
			i++
		}
		if i-start >= f.shortest {
			for _, s := range f.layers(data[start:i], levels-1, nil) {
				out = append(out, span{s.start + start, s.end + start, s.mark})
			}
		}
	}
	return out
}

// merge sorts spans and joins those that overlap; a join keeps the lower mark, which is the one that is known best:
// values of the Set come first. Two spans that only touch stay apart.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
			out[n-1].mark = min(out[n-1].mark, s.mark)
			continue
		}
		out = append(out, s)
	}
	return out
}
