package redact

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/policy/document"
)

// json writes a JSON result as one JSON text within the bounds.
func (r *renderer) json() {
	r.asIs = r.mayCopy()
	if root := r.doc.Root(); !r.value(root) {
		r.exhausted(root, root)
	}
}

// room is how many bytes may still be written while a notice and all closing bytes fit.
func (r *renderer) room() int { return r.limit.Bytes - len(r.out) - r.open - noticeRoom }

// value writes the value at i and reports whether it fitted; when not, the caller takes back what was written.
func (r *renderer) value(i int32) bool {
	if mark, ok := r.doc.hidden(i); ok {
		r.out = r.to.value(r.out, r.marks[mark])
		return r.room() >= 0
	}
	t := r.doc.At(i)
	switch {
	case t.Kind == document.String:
		return r.str(i, r.limit.String) && r.room() >= 0
	case t.Kind == document.Scalar:
		r.out = append(r.out, r.doc.Literal(t)...)
	case r.open >= r.limit.Depth && !r.doc.Empty(i):
		n := r.doc.Values(i+1, t.Next)
		r.cut.Items += n
		r.out = appendCutItems(append(r.out, '"'), n, "nested too deep and")
		r.out = append(r.out, '"')
	default:
		return r.container(i)
	}
	return r.room() >= 0
}

// mayCopy reports that what is inside the bounds may be written as it stands: nothing is hidden, and no string would be
// written in another way.
func (r *renderer) mayCopy() bool {
	d := &r.doc
	return len(d.whole)+len(d.spans) == 0 && d.Compact() && d.Plain() && d.Depth() <= r.limit.Depth && (r.to != ForOperator || d.ASCII())
}

// fits reports a container that is certainly inside the bounds with all that is in it.
func (r *renderer) fits(i int32) bool {
	t := r.doc.At(i)
	return r.narrow(i, t) && int(t.End-t.Start)+r.doc.Depth() <= r.room()
}

// narrow reports that no string in the value at i is too long, and no container in it too wide.
func (r *renderer) narrow(i int32, t *document.Token) bool {
	size, count := min(int(t.End-t.Start), r.doc.Longest()), min(int(t.Next-i), r.doc.Widest())
	return size <= r.limit.String && size <= r.limit.Bytes/4 && count <= r.limit.Items
}

// copied writes members or elements of the container t as they stand, as many as are certainly inside the bounds, from
// the one at at on, which is the k-th. It returns the next and how many there were.
func (r *renderer) copied(t *document.Token, at int32, k int) (next int32, n int) {
	next = at
	if !r.asIs {
		return next, 0
	}
	start, room := r.doc.At(at).Start, r.room()-r.doc.Depth()-len(",")
	end := start
	for next < t.Next && k+n < r.limit.Items {
		value := next
		if t.Kind == document.Object {
			value++
		}
		v := r.doc.At(value)
		if int(v.End-start) > room || !r.narrow(value, v) || t.Kind == document.Object && !r.short(next) {
			break
		}
		next, end = v.Next, v.End
		n++
	}
	if n == 0 {
		return next, 0
	}
	if k > 0 {
		r.out = append(r.out, ',')
	}
	r.out = append(r.out, r.doc.Literal(&document.Token{Start: start, End: end})...)
	return next, n
}

// short reports a name that is shown whole.
func (r *renderer) short(i int32) bool {
	t := r.doc.At(i)
	return int(t.End-t.Start) <= min(r.limit.String, r.limit.Bytes/4)
}

func (r *renderer) container(i int32) bool {
	t := r.doc.At(i)
	if r.asIs && r.fits(i) {
		r.out = append(r.out, r.doc.Literal(t)...)
		return true
	}
	r.out = append(r.out, t.Kind)
	r.open++
	if r.room() < 0 {
		r.open--
		return false
	}
	at := i + 1
	for k := 0; at < t.Next && !r.full; k++ {
		next, n := r.copied(t, at, k)
		if k += n; next == t.Next {
			break
		}
		at = next
		before := len(r.out)
		if k > 0 {
			r.out = append(r.out, ',')
		}
		if k == r.limit.Items {
			n := r.doc.Values(at, t.Next)
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
		if t.Kind == document.Object {
			fits = r.key(i, at, k)
			r.out = append(r.out, ':')
			value++
		}
		if !(fits && r.value(value)) && !r.full {
			r.out, r.cut = r.out[:before], cut
			r.exhausted(i, at)
			break
		}
		at = r.doc.At(value).Next
	}
	r.open--
	r.out = append(r.out, t.Kind+2) // '{' + 2 is '}', '[' + 2 is ']'
	return true
}

// exhausted ends a view that is at its bound: nothing from the token at on is shown. It stands inside the container
// at i, or alone when nothing was written yet.
func (r *renderer) exhausted(i, at int32) {
	n := r.doc.Values(at, r.doc.At(r.doc.Root()).Next)
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
	if r.doc.At(i).Kind == document.Object {
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

// cutRoom is the most bytes of the notice inside a string that was cut.
const cutRoom = 40

// str writes a string value or a member's name, cut to limit bytes or to the room there is, whichever is less. It
// reports false when there is no room worth cutting to.
func (r *renderer) str(i int32, limit int) bool {
	t, text, spans := r.doc.At(i), r.doc.Text(i), r.doc.masked(i)
	if len(spans) == 1 && spans[0].start == 0 && spans[0].end == len(text) && t.Kind == document.String {
		r.out = r.to.value(r.out, r.marks[spans[0].mark])
		return true
	}
	room := r.room() - len(`""`)
	if t.Plain && len(spans) == 0 && len(text) <= min(limit, room) && (r.to != ForOperator || t.ASCII) {
		r.out = append(r.out, r.doc.Literal(t)...)
		return true
	}
	before := len(r.out)
	r.out = append(r.out, '"')
	if t.ASCII && len(spans) == 0 { // each byte is written as one byte
		if limit = min(limit, room-cutRoom); limit <= 0 {
			return false
		}
		r.out = append(r.out, text[:limit]...)
		r.out = append(appendCutBytes(r.out, len(text)-limit), '"')
		r.cut.Bytes += len(text) - limit
		return true
	}
	left := len(text) // encoding makes no text shorter, masks may
	if len(spans) > 0 || left <= min(limit, room) {
		left = r.pieces(text, spans, min(limit, room), true)
	}
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
	before, cut := len(r.out), r.cut.Bytes
	if !r.str(at, min(r.limit.String, r.limit.Bytes/4)) {
		return false
	}
	if r.doc.masked(at) != nil || r.cut.Bytes > cut {
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
		for at := i + 1; at < r.doc.At(i).Next; at = r.doc.At(at + 1).Next {
			if string(r.doc.Text(at)) == name {
				name += "~"
				taken = true
				break
			}
		}
	}
	return append(out, name...)
}

// unquoted marks the bytes that stand in a JSON string as they are, for every audience. It is never written.
var unquoted = func() (table [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// appendQuoted writes the content of a JSON string. With inert everything that [appendInert] would escape becomes \uXXXX.
func appendQuoted(out, text []byte, inert bool) []byte {
	for i := 0; i < len(text); {
		n := i
		for n < len(text) && unquoted[text[n]] {
			n++
		}
		if n > i {
			out = append(out, text[i:n]...)
			i = n
			continue
		}
		c := text[i]
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
