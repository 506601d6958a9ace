package redact

import (
	"bytes"
	"slices"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// builder finds everything that must not be shown of one result. First it goes over names and shapes, which also
// brings up values; then it looks for all values everywhere.
type builder struct {
	set       Set
	finder    finder
	marks     []mark
	doc       findings
	harvested []Secret
	ids       []int // the mark of each harvested value
	ordinary  recent
	special   int32 // the last name that was not ordinary, or -1
}

func newBuilder(set Set, size int) builder {
	b := builder{set: set, finder: newFinder(size), special: -1}
	if known := set.of(); len(known.secrets) > 0 {
		b.marks = slices.Clone(known.marks)
		b.finder.add(known)
	}
	return b
}

// text finds the spans of a text result.
func (b *builder) text(text []byte) []span {
	spans := b.notices(text, quiet(text, 0))
	b.ready()
	return merge(append(spans, b.finder.find(text, depth)...))
}

// document fills in the spans and marks of the document.
func (b *builder) document() {
	b.names()
	b.ready()
	if len(b.finder.matchers) > 0 {
		b.values()
	}
}

// ready makes the finder look for harvested values too.
func (b *builder) ready() {
	if len(b.harvested) > 0 {
		b.finder.add(compile(b.harvested, b.ids))
	}
}

// notices are the spans of what looks like a secret in text, in order and apart. Its first byte that announces one is at
// first.
func (b *builder) notices(text []byte, first int) []span {
	all := notices(text, first)
	if len(all) == 0 {
		return nil
	}
	var spans []span
	for _, n := range all {
		value := text[n.start:n.end]
		id := b.mark(n.name, n.source, string(value))
		spans = append(spans, span{n.start, n.end, id})
		b.harvestAll(value, id)
	}
	return merge(spans)
}

func (b *builder) mark(name string, source Source, value string) int {
	b.marks = append(b.marks, mark{cleanName(name), source, fingerprint(value)})
	return len(b.marks) - 1
}

// names goes over the document: members with sensitive names become opaque, everything else is searched for shapes. What
// is deeper than MaxDepth is never shown, so it is not looked at.
func (b *builder) names() {
	var deep levels
	end := b.doc.At(b.doc.Root()).Next
	for i := b.doc.Root(); i < end; {
		switch t := b.doc.At(i); t.Kind {
		case document.String:
			b.shapes(i)
			i++
		case document.Name:
			i = b.member(i)
		case document.Scalar:
			i++
		default:
			if t.Class == document.Alike && b.ordinaryBefore(i, t.Next) {
				b.strings(i+1, t.Next)
				i = t.Next
				continue
			}
			i = deep.into(&b.doc.Document, i)
		}
	}
}

// ordinaryBefore reports that all names of the element before the one from i to next, which has the same, are ordinary, and
// that nothing in it is too deep to be looked at. Of a result that is itself an element, the one before is none of it.
func (b *builder) ordinaryBefore(i, next int32) bool {
	return b.special < i-(next-i) && i > b.doc.Root() && b.doc.Depth() <= MaxDepth
}

// strings is names of values in which all names are ordinary.
func (b *builder) strings(from, to int32) {
	for i := from; i < to; i++ {
		t := b.doc.At(i)
		if t.Kind != document.String {
			continue
		}
		if !t.Plain {
			b.shapes(i)
			continue
		}
		text := b.doc.Literal(t)
		text = text[1 : len(text)-1]
		if first := quiet(text, 0); first < len(text) {
			b.noticed(i, text, first)
		}
	}
}

// shapes hides what looks like a secret in the string or name at i.
func (b *builder) shapes(i int32) {
	text := b.doc.Text(i)
	if first := quiet(text, 0); first < len(text) {
		b.noticed(i, text, first)
	}
}

// noticed hides what looks like a secret in the text at i, whose first byte that announces one is at first.
func (b *builder) noticed(i int32, text []byte, first int) { b.doc.setSpans(i, b.notices(text, first)) }

// member is the token to go on at behind the name at i: that of its value, or behind the value of a sensitive name.
func (b *builder) member(i int32) int32 {
	name := b.doc.Text(i)
	if b.ordinary.has(name) {
		return i + 1
	}
	b.shapes(i)
	if !Sensitive(string(name)) {
		if b.doc.masked(i) == nil {
			b.ordinary.add(name)
		} else {
			b.special = i
		}
		return i + 1
	}
	b.special = i
	switch {
	case b.onlyNames(i + 1):
	case b.holdsSomething(i + 1):
		b.opaque(i+1, string(name))
		return b.doc.At(i + 1).Next
	}
	return i + 1
}

// opaque hides all of the value at i and keeps the strings in it, to be hidden elsewhere too.
func (b *builder) opaque(i int32, name string) {
	id := b.mark(name, Field, string(b.doc.Text(i)))
	b.doc.hide(i, id)
	for inside := i; inside < b.doc.At(i).Next; inside++ {
		if b.doc.At(inside).Kind == document.String {
			b.harvestAll(b.doc.Text(inside), id)
		}
	}
}

// onlyNames reports a value in which every string is the name of a value that the host gave: which secret is meant is
// what whoever reads it has to know, as in {"secrets": {"GH_TOKEN": "GITHUB_TOKEN"}}.
func (b *builder) onlyNames(i int32) bool {
	known, names := b.set.of(), 0
	for inside := i; inside < b.doc.At(i).Next; inside++ {
		switch b.doc.At(inside).Kind {
		case document.Scalar:
			return false
		case document.String:
			text := b.doc.Text(inside)
			if !slices.ContainsFunc(known.secrets, func(s Secret) bool { return s.Source == Bound && s.Name == string(text) }) {
				return false
			}
			names++
		}
	}
	return names > 0
}

// holdsSomething reports a value that can be a secret: not true, false, null or empty.
func (b *builder) holdsSomething(i int32) bool {
	switch t := b.doc.At(i); t.Kind {
	case document.Scalar:
		return !isAlpha(b.doc.Literal(t)[0])
	case document.String:
		return len(b.doc.Text(i)) > 0
	default:
		return !b.doc.Empty(i)
	}
}

// values looks for known values everywhere.
func (b *builder) values() {
	var deep levels
	end := b.doc.At(b.doc.Root()).Next
	for i := b.doc.Root(); i < end; {
		t := b.doc.At(i)
		if _, opaque := b.doc.hidden(i); opaque {
			i = t.Next
			continue
		}
		switch t.Kind {
		case document.String, document.Name:
			if found := b.finder.find(b.doc.Text(i), depth); len(found) > 0 {
				b.doc.setSpans(i, merge(append(found, b.doc.masked(i)...)))
			}
			i++
		case document.Scalar: // a secret of digits may come back as a number
			if found := b.finder.find(b.doc.Literal(t), 0); len(found) > 0 {
				b.doc.hide(i, found[0].mark)
			}
			i++
		default:
			i = deep.into(&b.doc.Document, i)
		}
	}
}

// levels counts the containers around a token, for a walk in the order of the text. Of a document that is nowhere too
// deep it counts nothing.
type levels struct{ ends []int32 } // ends of the containers around

// into is the token to go on at behind the opening of the container at i: the first inside it, or, where that would be
// more than MaxDepth deep, the one behind it.
func (l *levels) into(doc *document.Document, i int32) int32 {
	if doc.Depth() <= MaxDepth {
		return i + 1
	}
	for len(l.ends) > 0 && l.ends[len(l.ends)-1] <= i {
		l.ends = l.ends[:len(l.ends)-1]
	}
	end := doc.At(i).Next
	if len(l.ends) >= MaxDepth {
		return end
	}
	l.ends = append(l.ends, end)
	return i + 1
}

// recent remembers a few of the names that were found to be ordinary: records have the same names over and over.
type recent struct{ names [8][]byte }

func (r *recent) slot(name []byte) *[]byte {
	if len(name) == 0 {
		return &r.names[0]
	}
	return &r.names[(uint(len(name))*7+uint(name[0])+uint(name[len(name)-1])*3)%uint(len(r.names))]
}

func (r *recent) has(name []byte) bool {
	kept := *r.slot(name)
	return kept != nil && bytes.Equal(kept, name)
}

func (r *recent) add(name []byte) { *r.slot(name) = name }
