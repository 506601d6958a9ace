package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The file that instances share cannot be written by anybody.
func TestTheImageIsSealed(t *testing.T) {
	im, ok := newImage(make([]byte, 2*pageSize), nil)
	if !ok {
		t.Fatal("no image")
	}
	defer im.close()
	if _, err := unix.Pwrite(im.file, []byte{1}, 0); err != unix.EPERM {
		t.Errorf("writing to it: %v", err)
	}
	if _, err := unix.Mmap(im.file, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != unix.EPERM {
		t.Errorf("mapping it to write: %v", err)
	}
}

// On Linux with /proc, the kernel tells which pages were written.
func TestTheKernelTellsWhatWasWritten(t *testing.T) {
	m := openPageMap()
	if m == nil {
		t.Fatal("no map of pages: restoring falls back to giving all pages back")
	}
	m.close()
}
