//go:build !linux

package console

import "os"

// flush is for systems whose terminals cannot be told portably to forget their input; there the buffer of [Lines] is
// all that is dropped.
func flush(*os.File) {}
