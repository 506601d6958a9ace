package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what a terminal has received and nobody has read (tcflush with TCIFLUSH). A file that is not a
// terminal refuses, and then there is nothing to drop.
func flush(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
