package guestbuild

// Trim is what a build does to the linker's output.
func Trim(wasm []byte, shorten func(wasm []byte, stack uint32) []byte) []byte {
	return trim(wasm, shorten)
}

// Memory is what the data segments of a module make of memory; nil when they are not as a build reads them.
func Memory(wasm []byte) []byte {
	_, data, _, ok := dataSection(wasm)
	if !ok {
		return nil
	}
	segments, ok := segmentsOf(data)
	if !ok {
		return nil
	}
	memory, _ := layOut(segments)
	return memory
}

// Table is where the table of buckets is.
func Table(memory []byte) (at int64, n int, ok bool) {
	t, ok := funcTable(memory)
	return t.at, t.buckets, ok
}

// TrimLines is the part of a build that takes lines out of memory.
func TrimLines(memory []byte) {
	if t, ok := funcTable(memory); ok {
		trimLines(memory, t)
	}
}

// Module is where runtime.moduledata is.
func Module(memory []byte) int64 {
	t, _ := funcTable(memory)
	return t.module
}
