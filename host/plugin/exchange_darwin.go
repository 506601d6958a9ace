package plugin

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange makes two names, each in its folder, change what they stand for, in one step. Not every file system can.
func exchange(in *os.File, name string, other *os.File, with string) error {
	return unix.RenameatxNp(int(in.Fd()), name, int(other.Fd()), with, unix.RENAME_SWAP)
}
