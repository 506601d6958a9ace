package sandbox

import (
	"bytes"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

// fit is [escape] of guest text, of which nothing secret is left in part: what does not fit is hidden before it is cut.
// Whoever gets the text hides what is secret in all of it, and would not find a part of a value. No more of it is searched
// than can show.
func fit(text []byte, limit int, set redact.Set, to redact.Audience) string {
	if short := escape(text, limit); len(text) <= limit && short == escape(text, len(text)*len(`\u{10ffff}`)) {
		return short
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

// tail keeps the end of what is written to it. With hide, nothing secret is in it in part.
type tail struct {
	kept []byte
	hide *redact.Stream
}

// Write never fails and keeps at most maxStderr bytes.
func (t *tail) Write(p []byte) (int, error) {
	if t.hide != nil {
		t.keep(t.hide.Push(p))
	} else {
		t.keep(p)
	}
	return len(p), nil
}

func (t *tail) keep(p []byte) {
	p = p[max(0, len(p)-maxStderr):]
	if over := len(t.kept) + len(p) - maxStderr; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, p...)
}

// text is what is kept of a text that ends here.
func (t *tail) text() []byte {
	if t.hide != nil {
		t.keep(t.hide.Flush())
	}
	return t.kept
}
