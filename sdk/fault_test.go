package sdk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// asFault is an error that is a fault by its method As alone, as isMissing is fs.ErrNotExist by its method Is.
type (
	asFault   struct{}
	isMissing struct{}
)

func (asFault) Error() string { return "as" }

func (asFault) As(target any) bool {
	f, ok := target.(**Fault)
	if ok {
		*f = &Fault{Code: Conflict}
	}
	return ok
}

func (isMissing) Error() string { return "is" }

func (isMissing) Is(target error) bool { return target == fs.ErrNotExist }

// The code of an error is what errors.Is and errors.As find in it.
func TestTheCodeOfAnError(t *testing.T) {
	odd := &Fault{Code: "odd", Message: "m"}
	for _, c := range []struct {
		err  error
		want Code
	}{
		{errors.New("x"), Failed},
		{Errorf(Denied, "x"), Denied},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", Errorf(Exists, "x"))), Exists},
		{fmt.Errorf("%w, %w", Errorf(TooLarge, "x"), Errorf(Denied, "y")), TooLarge},
		{errors.Join(errors.New("x"), errors.Join(nil, Timeout)), Timeout},
		{errors.Join(Timeout, Errorf(Denied, "a fault before a code")), Denied},
		{fmt.Errorf("%w", Conflict), Conflict},
		{odd, Failed},
		{errors.Join(odd, Errorf(Conflict, "only the outermost fault counts")), Failed},
		{errors.Join(odd, Errorf(Denied, "but this is fs.ErrPermission too")), Denied},
		{fmt.Errorf("%w", asFault{}), Conflict},
		{fmt.Errorf("%w", isMissing{}), NotFound},
		{&fs.PathError{Op: "open", Path: "p", Err: syscall.ENOENT}, NotFound},
		{&fs.PathError{Op: "open", Path: "p", Err: fs.ErrExist}, Exists},
		{fmt.Errorf("%w", fs.ErrPermission), Denied},
		{fmt.Errorf("%w", context.DeadlineExceeded), Timeout},
		{fmt.Errorf("%w", context.Canceled), Failed},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%v is %s, not %s", c.err, got, c.want)
		}
		if f, ok := errors.AsType[*Fault](c.err); ok && f.Code.Known() && f.Code != c.want {
			t.Errorf("%v: errors.As finds %s", c.err, f.Code)
		}
	}
}
