package redact

import (
	"strconv"
	"unicode/utf8"
)

// noticeRoom is the most bytes that a notice of what was cut takes, with its quotes, comma and member name.
const noticeRoom = 80

// renderer writes one view.
type renderer struct {
	to    Audience
	limit Limit
	marks []mark
	doc   findings // of a JSON result; a copy, which keeps what is copied off the heap
	out   []byte
	open  int  // containers that still need their closing byte
	full  bool // the view is at its bound and says so; only closing bytes may follow
	asIs  bool // what fits may be written as it stands
	cut   Cut
}

// text writes a text result.
func (r *renderer) text(text []byte, spans []span) {
	if r.pieces(text, spans, r.limit.Bytes, false) == 0 {
		return
	}
	r.out = r.out[:0]
	left := r.pieces(text, spans, r.limit.Bytes-noticeRoom, false)
	r.out = appendCutBytes(r.out, left)
	r.cut.Bytes = left
}

func appendCutBytes(out []byte, left int) []byte {
	out = append(out, "... ["...)
	out = strconv.AppendInt(out, int64(left), 10)
	return append(out, " bytes cut by the host]"...)
}

// pieces writes text with masks in place of spans, at most limit bytes, as the content of a JSON string if quoted.
// It returns how many bytes it left out, with masks counted as masks: the length of a secret is not told. A mask is
// written whole or not at all, and text is cut between runes.
func (r *renderer) pieces(text []byte, spans []span, limit int, quoted bool) (left int) {
	end, at := len(r.out)+limit, 0
	for i := 0; ; i++ {
		stop := len(text)
		if i < len(spans) {
			stop = spans[i].start
		}
		at += r.plain(text[at:stop], end, quoted)
		if at < stop {
			return r.left(text, spans[i:], at)
		}
		if i == len(spans) {
			return 0
		}
		before := len(r.out)
		r.out = r.to.mask(r.out, r.marks[spans[i].mark])
		if len(r.out) > end {
			r.out = r.out[:before]
			return r.left(text, spans[i:], at)
		}
		at = spans[i].end
	}
}

func (r *renderer) left(text []byte, spans []span, at int) int {
	n := len(text) - at
	for _, s := range spans {
		n += len(r.to.mask(nil, r.marks[s.mark])) - (s.end - s.start)
	}
	return n
}

// plain writes as much of text as fits before end and returns how many bytes of it that is. Encoding never makes a
// text shorter, so what is longer than the room need not be encoded to know that it does not fit.
func (r *renderer) plain(text []byte, end int, quoted bool) int {
	const block = 1024
	done := 0
	for done < len(text) {
		n := min(block, len(text)-done)
		for n < len(text)-done && n > block-utf8.UTFMax && !utf8.RuneStart(text[done+n]) {
			n--
		}
		before := len(r.out)
		r.encode(text[done:done+n], quoted)
		if len(r.out) > end {
			r.out = r.out[:before]
			break
		}
		done += n
	}
	for done < len(text) {
		_, n := utf8.DecodeRune(text[done:])
		before := len(r.out)
		r.encode(text[done:done+n], quoted)
		if len(r.out) > end {
			r.out = r.out[:before]
			break
		}
		done += n
	}
	return done
}

// encode writes whole runes for the audience: inert for the operator, valid UTF-8 for all.
func (r *renderer) encode(text []byte, quoted bool) {
	switch {
	case quoted:
		r.out = appendQuoted(r.out, text, r.to == ForOperator)
	case r.to == ForOperator:
		r.out = appendInert(r.out, text)
	case utf8.Valid(text):
		r.out = append(r.out, text...)
	default:
		for _, c := range string(text) {
			r.out = utf8.AppendRune(r.out, c)
		}
	}
}
