package wire

import (
	"errors"
	"io/fs"
	"strconv"
)

// Code says why an answer is no. It is an error itself, so that
// errors.Is(err, wire.CodeNotFound) holds for a [Fault] with that code, and so
// does errors.Is(err, fs.ErrNotExist).
type Code string

// The ten codes. Anything else is a broken contract.
const (
	CodeDenied      Code = "denied"      // policy, grant or person said no
	CodeInvalid     Code = "invalid"     // the request itself is wrong
	CodeNotFound    Code = "not_found"   // no such thing, or not yours: one answer
	CodeExists      Code = "exists"      // it is there already
	CodeTooLarge    Code = "too_large"   // past a limit; nothing was done
	CodeConflict    Code = "conflict"    // someone else changed it first
	CodeUnavailable Code = "unavailable" // not now; asking later may work
	CodeTimeout     Code = "timeout"     // no answer in time
	CodeIO          Code = "io"          // disk or network failed underneath
	CodeFailed      Code = "failed"      // anything else
)

// Known reports whether c is one of the ten.
func (c Code) Known() bool {
	switch c {
	case CodeDenied, CodeInvalid, CodeNotFound, CodeExists, CodeTooLarge,
		CodeConflict, CodeUnavailable, CodeTimeout, CodeIO, CodeFailed:
		return true
	}
	return false
}

// Error is the code's own word.
func (c Code) Error() string { return string(c) }

// Is maps the codes that io/fs has words for.
func (c Code) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return c == CodeNotFound
	case fs.ErrExist:
		return c == CodeExists
	case fs.ErrPermission:
		return c == CodeDenied
	case fs.ErrInvalid:
		return c == CodeInvalid
	}
	return false
}

// Fault is a "no" with its reason in words that a model may read.
type Fault struct {
	Code    Code   `json:"code"`
	Message string `json:"message"` // at most [MaxFaultMessage] bytes
}

// Error is the message, or the code when there is none.
func (f *Fault) Error() string {
	if f.Message == "" {
		return string(f.Code)
	}
	return f.Message
}

// Unwrap gives the code, for errors.Is.
func (f *Fault) Unwrap() error { return f.Code }

// Check reports a code outside the ten, and a message that is too long.
func (f *Fault) Check() error {
	if !f.Code.Known() {
		return errors.New("wire: fault code is not one of the contract's ten")
	}
	if len(f.Message) > MaxFaultMessage {
		return errors.New("wire: fault message has " + strconv.Itoa(len(f.Message)) + " bytes, at most " + strconv.Itoa(MaxFaultMessage) + " are allowed")
	}
	return nil
}
