package redact

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// json writes a JSON result as one JSON text within the bounds.
func (r *renderer) json() {
	if !r.value(0) {
		r.exhausted(0, 0)
	}
}

// room is how many bytes may still be written while a notice and all closing bytes fit.
func (r *renderer) room() int { return r.limit.Bytes - len(r.out) - r.open - noticeRoom }

// value writes the value at i and reports whether it fitted; when not, the caller takes back what was written.
func (r *renderer) value(i int32) bool {
	t := &r.doc.tape[i]
	switch {
	case t.whole >= 0:
		r.out = r.to.value(r.out, r.marks[t.whole])
	case t.kind == '"':
		return r.str(t, r.limit.String) && r.room() >= 0
	case t.kind == '0':
		r.out = append(r.out, r.doc.literal(t)...)
	case r.open >= r.limit.Depth && t.count > 0:
		n := r.values(i+1, t.next)
		r.cut.Items += n
		r.out = appendCutItems(append(r.out, '"'), n, "nested too deep and")
		r.out = append(r.out, '"')
	default:
		return r.container(i)
	}
	return r.room() >= 0
}

func (r *renderer) container(i int32) bool {
	t := &r.doc.tape[i]
	r.out = append(r.out, t.kind)
	r.open++
	if r.room() < 0 {
		r.open--
		return false
	}
	at := i + 1
	for k := 0; k < int(t.count) && !r.full; k++ {
		before := len(r.out)
		if k > 0 {
			r.out = append(r.out, ',')
		}
		if k == r.limit.Items {
			n := r.values(at, t.next)
			r.notice(i, n)
			r.cut.Items += n
			if r.room() < 0 {
				r.out = r.out[:before]
				r.cut.Items -= n
				r.exhausted(i, at)
			}
			break
		}
		value, cut := at, r.cut
		fits := true
		if t.kind == '{' {
			fits = r.key(i, at, k)
			r.out = append(r.out, ':')
			value++
		}
		if !(fits && r.value(value)) && !r.full {
			r.out, r.cut = r.out[:before], cut
			r.exhausted(i, at)
			break
		}
		at = r.doc.tape[value].next
	}
	r.open--
	r.out = append(r.out, t.kind+2) // '{' + 2 is '}', '[' + 2 is ']'
	return true
}

// exhausted ends a view that is at its bound: nothing from the token at on is shown. It stands inside the container
// at i, or alone when nothing was written yet.
func (r *renderer) exhausted(i, at int32) {
	n := r.values(at, int32(len(r.doc.tape)))
	r.cut.Items += n
	r.full = true
	if r.open == 0 {
		r.out = append(appendCutItems(append(r.out[:0], '"'), n, ""), '"')
		return
	}
	if last := r.out[len(r.out)-1]; last != '{' && last != '[' {
		r.out = append(r.out, ',')
	}
	r.notice(i, n)
}

// notice writes, as the last thing in the container at i, that n values are left out.
func (r *renderer) notice(i int32, n int) {
	if r.doc.tape[i].kind == '{' {
		r.out = append(r.unique(append(r.out, '"'), i, "[cut by the host]"), `":`...)
	}
	r.out = append(appendCutItems(append(r.out, '"'), n, ""), '"')
}

func appendCutItems(out []byte, n int, why string) []byte {
	out = append(out, "... ["...)
	out = strconv.AppendInt(out, int64(n), 10)
	out = append(out, " values "...)
	if why != "" {
		out = append(append(out, why...), ' ')
	}
	return append(out, "cut by the host]"...)
}

// values counts the values, not the names, among the tokens from to to.
func (r *renderer) values(from, to int32) int {
	n := 0
	for _, t := range r.doc.tape[from:to] {
		if t.kind != 'k' {
			n++
		}
	}
	return n
}

// cutRoom is the most bytes of the notice inside a string that was cut.
const cutRoom = 40

// str writes a string value or a member's name, cut to limit bytes or to the room there is, whichever is less. It
// reports false when there is no room worth cutting to.
func (r *renderer) str(t *token, limit int) bool {
	text, spans := r.doc.text(t), r.doc.spans[t.spans]
	if len(spans) == 1 && spans[0].start == 0 && spans[0].end == len(text) && t.kind == '"' {
		r.out = r.to.value(r.out, r.marks[spans[0].mark])
		return true
	}
	room := r.room() - len(`""`)
	if t.plain && len(spans) == 0 && len(text) <= min(limit, room) && (r.to != ForOperator || plainASCII(text)) {
		r.out = append(r.out, r.doc.literal(t)...)
		return true
	}
	before := len(r.out)
	r.out = append(r.out, '"')
	left := r.pieces(text, spans, min(limit, room), true)
	if left > 0 {
		r.out = r.out[:before+1]
		if limit = min(limit, room-cutRoom); limit <= 0 {
			return false
		}
		left = r.pieces(text, spans, limit, true)
		r.out = appendCutBytes(r.out, left)
		r.cut.Bytes += left
	}
	r.out = append(r.out, '"')
	return true
}

func plainASCII(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// key writes the k-th name of the object at i and reports whether there was room. A name that was masked or cut gets
// its number, so that no two names of the object become one.
func (r *renderer) key(i, at int32, k int) bool {
	t := &r.doc.tape[at]
	before, cut := len(r.out), r.cut.Bytes
	if !r.str(t, min(r.limit.String, r.limit.Bytes/4)) {
		return false
	}
	if t.spans > 0 || r.cut.Bytes > cut {
		name := string(r.out[before+1:len(r.out)-1]) + "~" + strconv.Itoa(k)
		r.out = append(r.unique(append(r.out[:before], '"'), i, name), '"')
	}
	return true
}

// unique writes name, lengthened until the object at i has no member of that name. name needs no escapes beyond
// those it already has.
func (r *renderer) unique(out []byte, i int32, name string) []byte {
	for taken := true; taken; {
		taken = false
		for at := i + 1; at < r.doc.tape[i].next; at = r.doc.tape[at+1].next {
			if string(r.doc.text(&r.doc.tape[at])) == name {
				name += "~"
				taken = true
				break
			}
		}
	}
	return append(out, name...)
}

// appendQuoted writes the content of a JSON string. With inert everything that [Inert] would escape becomes \uXXXX.
func appendQuoted(out, text []byte, inert bool) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < 0x7f {
			out = append(out, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', c)
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r < ' ' || r == 0x2028 || r == 0x2029 || inert && !visible(r):
			if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
				out = appendHex(append(out, `\u`...), high, 4)
				r = low
			}
			out = appendHex(append(out, `\u`...), r, 4)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}
