package guestbuild

// Trim is what a build does to the linker's output.
func Trim(wasm []byte) []byte { return trim(wasm) }

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
func Table(memory []byte) (at int64, buckets int, ok bool) { return funcTable(memory) }
