package redact

import (
	"bytes"
	"slices"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// harvestLimit is how many discovered values are removed elsewhere too. More are still masked where they stand.
const harvestLimit = 64

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
}

// effort is how many bytes may be searched for each byte of a result. Prose and code take 5 to 15 with everything
// that they could be decoded to; a text that is built to be decoded in every way at every level takes 60.
const effort = 40

func newBuilder(set Set, size int) *builder {
	b := &builder{set: set, finder: finder{effort: effort*size + 1<<18}}
	if known := set.of(); len(known.secrets) > 0 {
		b.marks = slices.Clone(known.marks)
		b.finder.add(known)
	}
	return b
}

// text finds the spans of a text result.
func (b *builder) text(text []byte) []span {
	spans := b.notices(text)
	b.ready()
	return merge(append(spans, b.finder.find(text, depth)...))
}

// document fills in the spans and marks of the document.
func (b *builder) document() {
	b.names(b.doc.Root(), 0)
	b.ready()
	if len(b.finder.matchers) > 0 {
		b.values(b.doc.Root(), 0)
	}
}

// ready makes the finder look for harvested values too.
func (b *builder) ready() {
	if len(b.harvested) > 0 {
		b.finder.add(compile(b.harvested, b.ids))
	}
}

// notices are the spans of what looks like a secret in text, in order and apart.
func (b *builder) notices(text []byte) []span {
	all := notices(text)
	if len(all) == 0 {
		return nil
	}
	var spans []span
	for _, n := range all {
		value := text[n.start:n.end]
		id := b.mark(n.name, n.source, string(value))
		spans = append(spans, span{n.start, n.end, id})
		b.harvest(value, id)
	}
	return merge(spans)
}

func (b *builder) mark(name string, source Source, value string) int {
	b.marks = append(b.marks, mark{cleanName(name), source, fingerprint(value)})
	return len(b.marks) - 1
}

// harvest keeps a discovered value, if it is one that nobody would write by chance.
func (b *builder) harvest(value []byte, id int) {
	const least = 12
	if len(value) < least || len(value) > MaxValue || !strong(string(value)) || len(b.harvested) >= harvestLimit {
		return
	}
	for _, h := range b.harvested {
		if h.reveal() == string(value) {
			return
		}
	}
	m := b.marks[id]
	b.harvested = append(b.harvested, newSecret(m.name, string(value), m.source))
	b.ids = append(b.ids, id)
}

// learned is the Set that the result was searched with and what was harvested, as much of it as fits.
func (b *builder) learned() Set {
	if len(b.harvested) == 0 {
		return b.set
	}
	fit := slices.DeleteFunc(slices.Clone(b.harvested), func(s Secret) bool { return s.Check() != "" })
	s, err := b.set.With(fit[:min(len(fit), MaxSecrets-b.set.Len())]...)
	if err != nil { // every one was checked and there is room
		return b.set
	}
	return s
}

// names goes over the value at i: members with sensitive names become opaque, everything else is searched for
// shapes. What is deeper than MaxDepth is never shown, so it is not looked at.
func (b *builder) names(i int32, level int) {
	t := b.doc.At(i)
	switch {
	case t.Kind == document.String || t.Kind == document.Name:
		if spans := b.notices(b.doc.Text(i)); len(spans) > 0 {
			b.doc.setSpans(i, spans)
		}
	case t.Kind == document.Scalar || level >= MaxDepth:
	case t.Kind == document.Array:
		for at := i + 1; at < t.Next; at = b.doc.At(at).Next {
			b.names(at, level+1)
		}
	default:
		for at := i + 1; at < t.Next; at = b.doc.At(at + 1).Next {
			b.member(at, level)
		}
	}
}

func (b *builder) member(at int32, level int) {
	name := b.doc.Text(at)
	if !b.ordinary.has(name) {
		b.names(at, level+1)
		if Sensitive(string(name)) && b.holdsSomething(at+1) {
			b.opaque(at+1, string(name))
			return
		}
		if b.doc.masked(at) == nil && !Sensitive(string(name)) {
			b.ordinary.add(name)
		}
	}
	b.names(at+1, level+1)
}

// opaque hides all of the value at i and keeps the strings in it, to be hidden elsewhere too.
func (b *builder) opaque(i int32, name string) {
	id := b.mark(name, Field, string(b.doc.Text(i)))
	b.doc.hide(i, id)
	for inside := i; inside < b.doc.At(i).Next; inside++ {
		if b.doc.At(inside).Kind == document.String {
			b.harvest(b.doc.Text(inside), id)
		}
	}
}

// holdsSomething reports a value that can be a secret: not true, false, null or empty.
func (b *builder) holdsSomething(i int32) bool {
	switch t := b.doc.At(i); t.Kind {
	case document.Scalar:
		return !isAlpha(b.doc.Literal(t)[0])
	case document.String:
		return len(b.doc.Text(i)) > 0
	default:
		return t.Count > 0
	}
}

// values looks for known values in the value at i.
func (b *builder) values(i int32, level int) {
	if _, opaque := b.doc.hidden(i); opaque {
		return
	}
	t := b.doc.At(i)
	switch {
	case t.Kind == document.String || t.Kind == document.Name:
		if found := b.finder.find(b.doc.Text(i), depth); len(found) > 0 {
			b.doc.setSpans(i, merge(append(found, b.doc.masked(i)...)))
		}
	case t.Kind == document.Scalar: // a secret of digits may come back as a number
		if found := b.finder.find(b.doc.Literal(t), 0); len(found) > 0 {
			b.doc.hide(i, found[0].mark)
		}
	case level >= MaxDepth:
	default:
		for at := i + 1; at < t.Next; at = b.doc.At(at).Next {
			b.values(at, level+1)
		}
	}
}

// recent remembers a few of the names that were found to be ordinary: records have the same names over and over.
type recent struct{ names [8][]byte }

func (r *recent) slot(name []byte) *[]byte {
	if len(name) == 0 {
		return &r.names[0]
	}
	return &r.names[(len(name)*7+int(name[0])+int(name[len(name)-1])*3)%len(r.names)]
}

func (r *recent) has(name []byte) bool {
	kept := *r.slot(name)
	return kept != nil && bytes.Equal(kept, name)
}

func (r *recent) add(name []byte) { *r.slot(name) = name }
