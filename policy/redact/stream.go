package redact

import "unicode/utf8"

// window is how many bytes a stream collects beyond what it holds back before it looks at them: few, because a person
// watches a model write a handful of bytes at a time, and not one, because each look searches the held-back bytes
// again. openLimit is how long it waits for the end of something
// that began (a private key, a long token).
const (
	window    = 64
	openLimit = 64 << 10
	context   = 512 // bytes before the pending ones that are looked at again: a name before a value
)

// Stream redacts text that arrives in pieces. It holds back as many bytes as the longest encoding of a known value
// can take, so a value that is split over pieces, at any byte, is found; a private key without its end, and a token
// that touches the end, are held until they end. Use one Stream for one text; it is not safe for concurrent use.
type Stream struct {
	set    Set
	to     Audience
	buf    []byte // what was shown last, up to context bytes, then what is pending
	shown  int    // bytes of buf that were shown already
	key    bool   // inside a private key whose beginning was masked
	failed bool
}

// NewStream returns a Stream for one audience.
func NewStream(set Set, to Audience) *Stream { return &Stream{set: set, to: to} }

// HoldBack is how many bytes at least the Stream keeps until more arrive or it is flushed: ten for each byte of
// the longest value (\U00000041; an entity and a doubled percent escape take fewer), and 256 for shapes and names.
func (s *Stream) HoldBack() int {
	return 256 + 10*s.set.of().longest
}

// Push takes a piece and returns what may be shown now, which may be nothing.
func (s *Stream) Push(piece []byte) []byte {
	s.buf = append(s.buf, piece...)
	if len(s.buf)-s.shown < s.HoldBack()+window {
		return nil
	}
	return s.show(len(s.buf) - s.HoldBack())
}

// Flush returns the rest. The Stream can be used again for another text.
func (s *Stream) Flush() []byte {
	out := s.show(len(s.buf))
	*s = Stream{set: s.set, to: s.to}
	return out
}

// show renders what is pending up to about until, never through the middle of a span, and forgets what it does not
// need any more.
func (s *Stream) show(until int) (out []byte) {
	defer func() {
		if recover() != nil || s.failed {
			out = nil
			if !s.failed {
				out = []byte(FailedText)
			}
			s.failed, s.buf, s.shown = true, s.buf[:0], 0
		}
	}()
	last := until == len(s.buf)
	b := newBuilder(s.set, len(s.buf))
	spans, keyEnd := s.spans(&b)
	if !last {
		until = s.border(until, spans)
	}
	if s.key && keyEnd > 0 && until >= keyEnd {
		s.key = false
	}
	r := renderer{to: s.to, limit: Limit{Bytes: 1 << 62}, marks: b.marks}
	r.pieces(s.buf[s.shown:until], pending(spans, s.shown, until), r.limit.Bytes, false)
	keep := max(until-context, 0)
	s.buf = append(s.buf[:0], s.buf[keep:]...)
	s.shown = until - keep
	return r.out
}

// spans finds what must not be shown. Inside a private key everything up to its end, at keyEnd if it is there, is
// one more span.
func (s *Stream) spans(b *builder) (spans []span, keyEnd int) {
	spans = b.text(s.buf)
	if !s.key {
		return spans, 0
	}
	end := len(s.buf)
	if n := pemEnd(s.buf[s.shown:]); n > 0 {
		keyEnd = s.shown + n
		end = keyEnd
	}
	return merge(append(spans, span{s.shown, end, b.mark("private_key", Shape, "")})), keyEnd
}

// border moves until to the start of a span that it would cut or that may still grow. A span that has grown past
// openLimit is shown as its mask; if it is a private key, the rest of it is masked as it arrives.
func (s *Stream) border(until int, spans []span) int {
	for _, x := range spans {
		if x.end <= until || x.start >= until {
			continue
		}
		if x.end-max(x.start, s.shown) < openLimit+8*s.HoldBack() {
			return max(x.start, s.shown)
		}
		s.key = s.key || x.end == len(s.buf) && pemAt(s.buf[x.start:]) == len(s.buf)-x.start
		return x.end
	}
	until = s.word(until)
	for back := range utf8.UTFMax { // not through a rune
		if until-back >= s.shown && utf8.RuneStart(s.buf[until-back]) {
			return until - back
		}
	}
	return until
}

// word moves until to the beginning of a word that it stands in: encodings inside each other take more than what is held
// back, and seldom have white space in them. A word that goes on for openWord bytes of each of the longest value's is
// shown.
func (s *Stream) word(until int) int {
	const openWord = 64
	most := min(openWord*s.set.of().longest, openLimit)
	for back := until; until-back < most; back-- {
		if back == s.shown {
			return back
		}
		if c := s.buf[back-1]; c == ' ' || c == '\n' {
			return back
		}
	}
	return until
}

// pending are the parts of spans between from and to, counted from from.
func pending(spans []span, from, to int) []span {
	var out []span
	for _, x := range spans {
		if x.end > from && x.start < to {
			out = append(out, span{max(x.start, from) - from, min(x.end, to) - from, x.mark})
		}
	}
	return out
}
