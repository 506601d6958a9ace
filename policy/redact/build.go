package redact

import "slices"

// harvestLimit is how many discovered values are removed elsewhere too. More are still masked where they stand.
const harvestLimit = 64

// builder finds everything that must not be shown of one result. First it goes over names and shapes, which also
// brings up values; then it looks for all values everywhere.
type builder struct {
	set       Set
	finder    finder
	marks     []mark
	doc       document
	harvested []Secret
	ids       []int // the mark of each harvested value
}

// effort is how many bytes may be searched for each byte of a result. Prose and code take 5 to 15 with everything
// that they could be decoded to; a text that is built to be decoded in every way at every level takes 60.
const effort = 40

func newBuilder(set Set, size int) *builder {
	b := &builder{set: set, finder: finder{effort: effort*size + 1<<18, class: classes()}}
	for _, s := range set.of().secrets {
		b.marks = append(b.marks, mark{s.Name, s.Source, s.Fingerprint()})
	}
	if set.Len() > 0 {
		b.finder.add(set.of())
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
	b.names(0, 0)
	b.ready()
	b.values(0, 0)
}

// ready makes the finder look for harvested values too.
func (b *builder) ready() {
	if len(b.harvested) > 0 {
		b.finder.add(compile(b.harvested, b.ids))
	}
}

// notices are the spans of what looks like a secret in text, in order and apart.
func (b *builder) notices(text []byte) []span {
	var spans []span
	for _, n := range notices(text) {
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
	t := &b.doc.tape[i]
	switch {
	case t.kind == '"' || t.kind == 'k':
		b.doc.setSpans(t, b.notices(b.doc.text(t)))
	case t.kind == '0' || level >= MaxDepth:
	case t.kind == '[':
		for at := i + 1; at < t.next; at = b.doc.tape[at].next {
			b.names(at, level+1)
		}
	default:
		for at := i + 1; at < t.next; at = b.doc.tape[at+1].next {
			b.member(at, level)
		}
	}
}

func (b *builder) member(at int32, level int) {
	b.names(at, level+1)
	name, value := string(b.doc.text(&b.doc.tape[at])), &b.doc.tape[at+1]
	if !Sensitive(name) || !b.holdsSomething(value) {
		b.names(at+1, level+1)
		return
	}
	id := b.mark(name, Field, string(b.doc.text(value)))
	value.whole = int32(id)
	for inside := at + 1; inside < value.next; inside++ {
		if t := &b.doc.tape[inside]; t.kind == '"' {
			b.harvest(b.doc.text(t), id)
		}
	}
}

// holdsSomething reports a value that can be a secret: not true, false, null or empty.
func (b *builder) holdsSomething(t *token) bool {
	switch t.kind {
	case '0':
		return !isAlpha(b.doc.raw[t.start])
	case '"':
		return len(b.doc.text(t)) > 0
	}
	return t.count > 0
}

// values looks for known values in the value at i.
func (b *builder) values(i int32, level int) {
	t := &b.doc.tape[i]
	switch {
	case t.whole >= 0:
	case t.kind == '"' || t.kind == 'k':
		if found := b.finder.find(b.doc.text(t), depth); len(found) > 0 {
			b.doc.setSpans(t, merge(append(found, b.doc.spans[t.spans]...)))
		}
	case t.kind == '0': // a secret of digits may come back as a number
		if found := b.finder.find(b.doc.literal(t), 0); len(found) > 0 {
			t.whole = int32(found[0].mark)
		}
	case level >= MaxDepth:
	default:
		for at := i + 1; at < t.next; at = b.doc.tape[at].next {
			b.values(at, level+1)
		}
	}
}
