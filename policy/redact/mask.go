package redact

import "slices"

// Mask replaces the values that the host gave to [Set.With] wherever text holds them, in any encoding that this package
// knows, and leaves every other byte as it is, whether it is UTF-8 or not. Values that were only discovered, and what
// merely looks like a secret, stay: whoever was given one may use it. hits is how many spans were replaced; when there
// are none, masked is text itself. ok is false when text cannot be searched to its end, and then masked is nil.
//
// Use it for what untrusted code is to read, on the whole of it: a value that is split over two texts is not found.
func (s Set) Mask(to Audience, text []byte) (masked []byte, hits int, ok bool) {
	defer func() {
		if recover() != nil {
			masked, hits, ok = nil, 0, false
		}
	}()
	known := s.of()
	if len(known.secrets) == 0 {
		return text, 0, true
	}
	b := newBuilder(s, len(text))
	spans := slices.DeleteFunc(b.finder.find(text, depth), func(x span) bool { return known.marks[x.mark].source != Bound })
	if len(spans) == 0 {
		return text, 0, true
	}
	spans = merge(spans)
	at := 0
	for _, x := range spans {
		masked = to.mask(append(masked, text[at:x.start]...), known.marks[x.mark])
		at = x.end
	}
	return append(masked, text[at:]...), len(spans), true
}
