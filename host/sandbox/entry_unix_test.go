//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// ownedBy is a file of somebody.
type ownedBy struct {
	fs.FileInfo
	uid uint32
}

func (o ownedBy) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

// A file of another user is none of ours, whatever its mode.
func TestAnotherUsersFileIsNotBelieved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	writeFile(t, path, nil)
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	us := uint32(os.Geteuid())
	if !ownFile(info) || !ownFile(ownedBy{info, us}) || ownFile(ownedBy{info, us + 1}) {
		t.Errorf("%v %v %v", ownFile(info), ownFile(ownedBy{info, us}), ownFile(ownedBy{info, us + 1}))
	}
}
