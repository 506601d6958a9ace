package sandbox

import (
	"bytes"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

// fit is [escape] of guest text, of which nothing secret is left in part: what does not fit is hidden before it is cut.
// Whoever gets the text hides what is secret in all of it, and would not find a part of a value. No more of it is searched
// than can show.
func fit(text []byte, limit int, set redact.Set, to redact.Audience) string {
	if all, whole := escapeWhole(text, limit); whole {
		return all
	}
	s := redact.NewStream(set, to)
	n := min(len(text), limit+2*s.HoldBack())
	shown := bytes.Clone(s.Push(text[:n]))
	if n == len(text) {
		shown = append(shown, s.Flush()...)
	}
	return escape(shown, limit)
}

// known is what a call hides, nothing where nobody says.
func known(redactor func() redact.Set) redact.Set {
	if redactor == nil {
		return redact.Set{}
	}
	return redactor()
}

// tail keeps the end of what is written to it, as it came: a guest may write much, and little of it is ever read. With hides,
// nothing secret is in what is read, in part neither.
type tail struct {
	kept  []byte
	cut   bool // there was more before it
	hides func() redact.Set
	most  int // bytes that are kept, with some before them in which a secret may begin
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	if t.most == 0 {
		t.most = maxStderr
		if t.hides != nil {
			t.most += before(redact.NewStream(t.hides(), redact.ForOperator))
		}
	}
	n := len(p)
	if over := len(p) - t.most; over > 0 {
		p, t.cut = p[over:], true
	}
	if len(t.kept)+len(p) > 2*t.most { // not for each byte anew
		over := len(t.kept) - t.most
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// before is how many bytes in front of a text a stream is given so that none of the text is the rest of a secret.
func before(s *redact.Stream) int { return 3 * s.HoldBack() }

// text is the end of what was written, at most maxStderr bytes.
func (t *tail) text() []byte {
	out := t.kept
	if t.hides != nil {
		s := redact.NewStream(t.hides(), redact.ForOperator)
		from := max(0, len(out)-maxStderr-before(s))
		cut := t.cut || from > 0
		out = out[from:]
		if cut { // what comes out of this may begin inside of a secret
			n := min(len(out), before(s))
			s.Push(out[:n])
			out = out[n:]
		}
		out = append(bytes.Clone(s.Push(out)), s.Flush()...)
	}
	return out[max(0, len(out)-maxStderr):]
}
