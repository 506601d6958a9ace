package sandbox

import (
	enc "encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// copyBelow is the size up to which a whole copy is cheaper than asking the
	// kernel what was written, and small enough to stay resident.
	copyBelow = 64 << 10
	// hotBytes is how much of one instance, and of its memory beyond the image,
	// stays resident between calls until it is trimmed: writing over a page costs
	// a fortieth of faulting it in.
	hotBytes = 4 << 20
	// hotTail is the size up to which memory beyond the image is cleared unasked.
	hotTail = 128 << 10
)

// image is a linear memory as initialisation left it. A small one is a copy. A
// large one is a sealed file in memory which instances map copy on write: they
// share every page that they have not written.
type image struct {
	size uint64
	data []byte // to copy from; of a large one, a mapping that cannot be written
	file int    // of a large one; -1

	pages *pageMap // nil: whatever was written is given back whole
}

// newImage copies a memory. It is false when the machine will not have it.
func newImage(mem []byte, pages *pageMap) (*image, bool) {
	im := &image{size: uint64(len(mem)), file: -1, pages: pages}
	if len(mem) <= copyBelow {
		im.data = append([]byte(nil), mem...)
		return im, true
	}
	fd, err := unix.MemfdCreate("portcullis-snapshot", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, false
	}
	im.file = fd
	if !im.fill(mem) {
		im.close()
		return nil, false
	}
	return im, true
}

// fill writes the pages that are not zero, and lets nobody write any more.
func (im *image) fill(mem []byte) bool {
	if unix.Ftruncate(im.file, int64(len(mem))) != nil {
		return false
	}
	for at := 0; at < len(mem); {
		end := at
		for end < len(mem) && !zero(mem[end:min(end+pageBytes, len(mem))]) {
			end += pageBytes
		}
		for at < min(end, len(mem)) {
			n, err := unix.Pwrite(im.file, mem[at:min(end, len(mem))], int64(at))
			if err != nil || n == 0 {
				return false
			}
			at += n
		}
		at = end + pageBytes
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(im.file), unix.F_ADD_SEALS, seals); err != nil {
		return false
	}
	data, err := unix.Mmap(im.file, 0, len(mem), unix.PROT_READ, unix.MAP_SHARED)
	im.data = data
	return err == nil
}

// pageBytes is a multiple of the machine's page on every platform that has
// smaller ones, and what the map of pages is read for; see [pageMap].
const pageBytes = 4096

func zero(page []byte) bool {
	for len(page) >= 8 {
		if enc.NativeEndian.Uint64(page) != 0 {
			return false
		}
		page = page[8:]
	}
	return true
}

// restore makes the first bytes of a memory what the image is and the rest zero.
// It is false when the machine will not have it.
func (im *image) restore(l *linear) bool {
	ok := true
	switch {
	case im.file < 0:
		copy(l.base, im.data)
	case !l.covered:
		ok = im.cover(l)
	default:
		ok = im.uncover(l)
	}
	if l.high > im.size {
		ok = im.cut(l) && ok
	}
	return ok
}

// cut makes zero what lies beyond the image.
func (im *image) cut(l *linear) bool {
	rest := l.base[im.size:l.high]
	l.high = im.size
	switch {
	case len(rest) <= hotTail || !l.held:
		clear(rest)
		return true
	case im.pages != nil && im.pages.each(rest, &l.entries, hotBytes/pageBytes, func(at int) {
		clear(rest[at : at+pageBytes])
	}):
		return true
	}
	return unix.Madvise(rest, unix.MADV_DONTNEED) == nil
}

// cover maps the image over a memory.
func (im *image) cover(l *linear) bool {
	if !l.held {
		copy(l.base, im.data)
		return true
	}
	_, err := unix.MmapPtr(im.file, 0, unsafe.Pointer(&l.base[0]), uintptr(im.size),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	l.covered = err == nil
	return l.covered
}

// uncover undoes what was written: page by page where the kernel says which, and
// all at once where it does not or where too much would stay resident.
func (im *image) uncover(l *linear) bool {
	mem := l.base[:im.size]
	if im.pages == nil || !im.pages.each(mem, &l.entries, hotBytes/pageBytes, func(at int) {
		copy(mem[at:at+pageBytes], im.data[at:at+pageBytes])
	}) {
		return unix.Madvise(mem, unix.MADV_DONTNEED) == nil
	}
	return true
}

// trim gives back every page of a restored memory that is its own. It reads the
// same afterwards.
func (im *image) trim(l *linear) {
	l.entries = nil
	if l.covered {
		_ = unix.Madvise(l.base[:im.size], unix.MADV_DONTNEED)
	}
	if l.held {
		_ = unix.Madvise(l.base[im.size:], unix.MADV_DONTNEED)
	}
}

func (im *image) close() {
	if im.file < 0 {
		return
	}
	if im.data != nil {
		_ = unix.Munmap(im.data)
	}
	_ = unix.Close(im.file)
	im.data, im.file = nil, -1
}

// pageMap tells which pages of a private mapping were written, out of
// /proc/self/pagemap: those that are the process's own instead of the file's.
type pageMap struct{ file int }

// openPageMap is nil where the kernel does not tell, or does not tell the truth.
func openPageMap() *pageMap {
	if os.Getpagesize() != pageBytes {
		return nil
	}
	fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	m := &pageMap{fd}
	if !m.works() {
		m.close()
		return nil
	}
	return m
}

// works writes to one of three pages and reads another.
func (m *pageMap) works() bool {
	im, ok := newImage(make([]byte, copyBelow+pageBytes), m)
	if !ok {
		return false
	}
	defer im.close()
	l := &linear{}
	if l.base, l.held = reserve(im.size); !l.held {
		return false
	}
	defer unreserve(l.base)
	if !im.cover(l) {
		return false
	}
	found := func() (list []int, ok bool) {
		ok = m.each(l.base, &l.entries, 100, func(at int) { list = append(list, at) })
		return list, ok
	}
	if list, ok := found(); !ok || len(list) != 0 || l.base[0] != 0 {
		return false
	}
	l.base[5*pageBytes] = 1
	list, ok := found()
	return ok && len(list) == 1 && list[0] == 5*pageBytes
}

// each calls f with the offset of every page of mem that was written; false when
// they are more than most, or when the kernel does not answer. buf is kept between
// calls for what is read.
func (m *pageMap) each(mem []byte, buf *[]byte, most int, f func(at int)) bool {
	const (
		atOnce  = 1024
		swapped = 1 << 62
		present = 1 << 63
		shared  = 1 << 61 // with the file
	)
	if *buf == nil {
		*buf = make([]byte, 8*atOnce)
	}
	first := uintptr(unsafe.Pointer(unsafe.SliceData(mem))) / pageBytes
	for page, end := 0, len(mem)/pageBytes; page < end; page += atOnce {
		b := (*buf)[:8*min(atOnce, end-page)]
		if n, err := unix.Pread(m.file, b, int64(first+uintptr(page))*8); err != nil || n != len(b) {
			return false
		}
		for i := 0; i < len(b); i += 8 {
			e := enc.NativeEndian.Uint64(b[i:])
			if e&swapped == 0 && (e&present == 0 || e&shared != 0) {
				continue
			}
			if most--; most < 0 {
				return false
			}
			f((page + i/8) * pageBytes)
		}
	}
	return true
}

func (m *pageMap) close() {
	if m != nil {
		_ = unix.Close(m.file)
	}
}
