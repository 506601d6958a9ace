//go:build !linux

package sandbox

// image is a linear memory as initialisation left it: here a copy, as large as
// the memory, to be copied back after each call.
type image struct {
	size uint64
	data []byte
}

func newImage(mem []byte, _ *pageMap) (*image, bool) {
	return &image{uint64(len(mem)), append([]byte(nil), mem...)}, true
}

func (im *image) restore(l *linear) bool {
	copy(l.base, im.data)
	if l.high > im.size {
		clear(l.base[im.size:l.high])
	}
	l.high = im.size
	return true
}

func (*image) trim(*linear) {}
func (*image) close()       {}

// pageMap is of Linux.
type pageMap struct{}

func openPageMap() *pageMap { return nil }

func (*pageMap) close() {}
