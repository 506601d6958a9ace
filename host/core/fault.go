package core

import (
	"errors"
	"fmt"
	"strings"
)

// LoadError is one fault of a file that a person wrote: where it stands, and what to do about it.
type LoadError struct {
	Path     string // below the home, with slashes: "cores/assistant/agent.yaml"
	Line     int    // 1-based; 0 when the file as a whole is at fault
	Column   int    // 1-based, in characters
	Sentence string // what is wrong and what to write instead; holds no value of a secret
}

// Error is path:line:column: sentence, the form that editors jump to.
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Sentence
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Sentence)
}

// LoadErrors are all faults found in one reading, in the order of the file. It is never empty. errors.As with a
// [*LoadError] finds the first.
type LoadErrors []*LoadError

// Error has one line for each fault.
func (e LoadErrors) Error() string {
	lines := make([]string, len(e))
	for i, fault := range e {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single faults to errors.As.
func (e LoadErrors) Unwrap() []error {
	out := make([]error, len(e))
	for i, fault := range e {
		out[i] = fault
	}
	return out
}

// Faults returns the faults that err carries, or nil when err is of another kind (the disk failed, the context
// ended): then nothing is known about the file.
func Faults(err error) []*LoadError {
	var many LoadErrors
	if errors.As(err, &many) {
		return many
	}
	var one *LoadError
	if errors.As(err, &one) {
		return []*LoadError{one}
	}
	return nil
}

// refuse is the error of a whole file or folder.
func refuse(path, format string, args ...any) error {
	return LoadErrors{{Path: path, Sentence: fmt.Sprintf(format, args...)}}
}

// quote shows a short text of a file inside a sentence, control characters escaped. Of a long one it tells the length: a part
// of a secret could not be hidden any more.
func quote(s string) string {
	const limit = 60
	if len(s) > limit {
		return fmt.Sprintf("a text of %d bytes", len(s))
	}
	return fmt.Sprintf("%q", s)
}
