package process

import "os"

// Seen is a file as it was when its content was read: which file, and when anything of it last changed. A file that is
// the same by all of it has the same content, as long as it was not written in the very tick of the clock that it was
// read in; [Digests] reads such a file again.
type Seen struct {
	Path     string `json:"path"` // absolute, links resolved
	Device   uint64 `json:"device"`
	Inode    uint64 `json:"inode"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds since 1970
	Changed  int64  `json:"changed"`  // the same, of the inode: nobody can set it back; 0 where the system has none
}

// same compares everything but the path.
func (s Seen) same(o Seen) bool { o.Path = s.Path; return s == o }

// still looks the path up again: true when it leads to the same, unchanged file.
func (s Seen) still() bool {
	info, err := os.Stat(s.Path)
	return err == nil && s.same(seen(s.Path, info))
}
