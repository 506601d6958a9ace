package redact

// Text redacts one text for one audience without bounds: log lines, error texts, names. When that fails the result
// is [FailedText]. Redact before anything is cut: what is left of a value that was cut through is not found.
func (s Set) Text(a Audience, text string) string { return s.said(a, text, 1<<62) }

// Short is [Set.Text] in at most limit bytes. Masks stand whole or not at all, text is cut between runes, and nothing
// tells that it was: for names and codes. A limit under the length of a mask may leave nothing.
func (s Set) Short(a Audience, text string, limit int) string { return s.said(a, text, limit) }

// Named is [Set.Text] of the value of a field, header or log attribute: all of it is hidden where the name is sensitive.
func (s Set) Named(a Audience, name, value string) string {
	if value != "" && Sensitive(name) && !placeholder(value) {
		return string(a.mask(nil, mark{cleanName(name), Field, fingerprint(value)}))
	}
	return s.Text(a, value)
}

func (s Set) said(a Audience, text string, limit int) (out string) {
	defer func() {
		if recover() != nil {
			out = FailedText[:min(len(FailedText), limit)]
		}
	}()
	if len(text) > MaxRaw {
		return FailedText[:min(len(FailedText), limit)]
	}
	b := newBuilder(s, len(text))
	r := renderer{to: a}
	spans := b.text([]byte(text))
	r.marks = b.marks
	r.pieces([]byte(text), spans, limit, false)
	return string(r.out)
}

// Holds reports whether text holds a value that the host gave to [Set.With], in any encoding that this package knows,
// and the name of the first. Values that were only discovered do not count: whoever was given one may use it. When
// text cannot be searched the answer is true without a name. Ask it about what untrusted code sends away.
func (s Set) Holds(text []byte) (name string, held bool) {
	defer func() {
		if recover() != nil {
			name, held = "", true
		}
	}()
	known := s.of()
	if len(known.secrets) == 0 {
		return "", false
	}
	f := newFinder(len(text))
	f.add(known)
	for _, x := range f.find(text, depth) {
		if m := known.marks[x.mark]; m.source == Bound {
			return m.name, true
		}
	}
	return "", false
}
