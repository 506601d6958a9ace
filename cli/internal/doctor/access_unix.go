//go:build unix

package doctor

import "golang.org/x/sys/unix"

// mayWrite asks whether this process could make a file in a folder (access(2)); it makes none.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK) }
