package process

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func seen(path string, info fs.FileInfo) Seen {
	s := Seen{Path: path, Size: info.Size(), Modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode, s.Changed = st.Dev, st.Ino, st.Ctim.Nano()
	}
	return s
}

func (s Seen) is(st *unix.Stat_t) bool {
	return s.same(Seen{Device: st.Dev, Inode: st.Ino, Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano()})
}

// owner is who owns the file, and whether the system knows.
func owner(info fs.FileInfo) (int, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
