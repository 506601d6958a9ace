package sandbox

import "syscall"

// reserve maps n bytes of zeroed memory that cost nothing until touched.
func reserve(n uint64) (base []byte, ok bool) {
	if n == 0 {
		return nil, false
	}
	base, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	return base, err == nil
}

// unreserve cannot fail on a mapping that reserve made; if it did, address
// space would leak and nothing else.
func unreserve(base []byte) { _ = syscall.Munmap(base) }
