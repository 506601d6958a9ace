package sqlite

import (
	"errors"
	"fmt"
)

// ErrReadOnly reports a write to a store that was opened for reading.
var ErrReadOnly = errors.New("sqlite: the store was opened read-only")

// ErrClosed reports the use of a closed store.
var ErrClosed = errors.New("sqlite: the store is closed")

// FailedError reports a store that no longer writes because its disk failed or its file is damaged: whether the last
// write is there can only be told by opening it again.
type FailedError struct {
	Database string // absolute path
	Err      error
}

// Error says what happened and what to do.
func (e *FailedError) Error() string {
	return fmt.Sprintf("sqlite: %s failed and takes no more writes: %v (stop the host, check the disk, then run `portcullis store check`)", e.Database, e.Err)
}

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// SQLite's primary result codes that this package tells apart. https://sqlite.org/rescode.html
const (
	codeError   = 1
	codeBusy    = 5
	codeIO      = 10
	codeCorrupt = 11
	codeFull    = 13
	codeNotADB  = 26
)

// code is the primary result code of a driver error, or 0.
func code(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code() & 0xff
	}
	return 0
}

// judge stops the store when err says that the disk or the file cannot be trusted. It returns what to hand on.
func (s *Store) judge(err error) error {
	switch code(err) {
	case codeIO, codeCorrupt, codeNotADB:
		return s.fail(err)
	}
	return err
}

// fail refuses every further write. The caller holds the writer's turn.
func (s *Store) fail(err error) error {
	if s.failure == nil {
		s.failure = &FailedError{Database: s.path, Err: err}
	}
	return s.failure
}

// wrapf says what was being done when err came, and is nil when it is.
func wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlite: "+format+": %w", append(args, err)...)
}
