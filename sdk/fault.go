package sdk

import (
	"context"
	"errors"
	"io/fs"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Code says why something did not happen. Each is an error, so that
// errors.Is(err, sdk.NotFound) works on what a [Host] returns.
type Code = wire.Code

// Fault is an error with a code and words that the model may read.
type Fault = wire.Fault

// The codes.
const (
	Denied      = wire.CodeDenied      // policy, grant or person said no
	Invalid     = wire.CodeInvalid     // the request is wrong: asking again does not help
	NotFound    = wire.CodeNotFound    // no such thing
	Exists      = wire.CodeExists      // it is there already
	TooLarge    = wire.CodeTooLarge    // past a limit
	Conflict    = wire.CodeConflict    // someone else changed it first
	Unavailable = wire.CodeUnavailable // not now
	Timeout     = wire.CodeTimeout     // no answer in time
	IO          = wire.CodeIO          // disk or network failed
	Failed      = wire.CodeFailed      // anything else
)

// Errorf makes a [Fault] to return from a handler. The text is read by the
// model: say what is wrong and what would be right. It formats as fmt.Sprintf
// does, as far as messages go: texts, errors, whatever has a String method,
// numbers, booleans and lists of strings, with flags, width and precision.
// Anything else shows as %!v(T: use fmt.Sprint), which is what to do then.
func Errorf(code Code, text string, args ...any) error {
	if false {
		_ = sprintf(text, args...) // see there
	}
	return &Fault{Code: code, Message: format(text, args...)}
}

// faultOf turns a handler's error into the fault of its reply: the outermost
// code in the chain with the whole text, or failed.
func faultOf(err error) *Fault {
	return &Fault{Code: codeOf(err), Message: cut(valid(err.Error(), "\uFFFD"), wire.MaxFaultMessage)}
}

func codeOf(err error) Code {
	if f, ok := errors.AsType[*Fault](err); ok && f.Code.Known() {
		return f.Code
	}
	if c, ok := errors.AsType[Code](err); ok && c.Known() {
		return c
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, fs.ErrNotExist):
		return NotFound
	case errors.Is(err, fs.ErrExist):
		return Exists
	case errors.Is(err, fs.ErrPermission):
		return Denied
	}
	return Failed
}

// cut shortens s to at most n bytes at a character's border.
func cut(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	return valid(s[:n-len(mark)], "") + mark
}

// valid replaces each run of bytes that are not UTF-8, as strings.ToValidUTF8
// does in six times the code.
func valid(s, replacement string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]byte, 0, len(s)+len(replacement))
	broken := false
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch good := r != utf8.RuneError || n > 1; {
		case good:
			out, broken = append(out, s[:n]...), false
		case !broken:
			out, broken = append(out, replacement...), true
		}
		s = s[n:]
	}
	return string(out)
}
