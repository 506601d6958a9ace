package abi

// Each function below takes an argument block's content and returns the content
// of the reply block, nil when the reply offset was 0.

// Log writes one record to the operator's log.
func Log(arg []byte) []byte { return exchange(hostLog, arg) }

// Emit reports progress.
func Emit(arg []byte) []byte { return exchange(hostEmit, arg) }

// Now reads the host's clock.
func Now() []byte { return exchange(hostNow, nil) }

// Random reads the host's random source.
func Random(arg []byte) []byte { return exchange(hostRandom, arg) }

// HTTP performs one exchange.
func HTTP(arg []byte) []byte { return exchange(hostHTTP, arg) }

// FSStat describes one path.
func FSStat(arg []byte) []byte { return exchange(hostFSStat, arg) }

// FSRead reads a range of a file.
func FSRead(arg []byte) []byte { return exchange(hostFSRead, arg) }

// FSList reads a page of a directory.
func FSList(arg []byte) []byte { return exchange(hostFSList, arg) }

// FSWrite writes a file.
func FSWrite(arg []byte) []byte { return exchange(hostFSWrite, arg) }

// FSMkdir makes a directory.
func FSMkdir(arg []byte) []byte { return exchange(hostFSMkdir, arg) }

// FSRemove removes a file or an empty directory.
func FSRemove(arg []byte) []byte { return exchange(hostFSRemove, arg) }

// FSRename moves a file or directory.
func FSRename(arg []byte) []byte { return exchange(hostFSRename, arg) }

// KVGet reads one key.
func KVGet(arg []byte) []byte { return exchange(hostKVGet, arg) }

// KVSet writes one key.
func KVSet(arg []byte) []byte { return exchange(hostKVSet, arg) }

// KVDelete removes one key.
func KVDelete(arg []byte) []byte { return exchange(hostKVDelete, arg) }

// KVList reads a page of keys.
func KVList(arg []byte) []byte { return exchange(hostKVList, arg) }

// Sign makes one message authentication code.
func Sign(arg []byte) []byte { return exchange(hostSign, arg) }

// Config reads one non-secret setting; ok is false when it has no value.
func Config(name string) (value string, ok bool) {
	key := block([]byte(name))
	//lint:ignore SA4006 the stand-in for configGet panics, the import does not
	off := configGet(key)
	free(key)
	if off == 0 {
		return "", false
	}
	return string(take(off)), true
}

// Input reads the input of the running export.
func Input() []byte { return load(inputOffset(), inputLength()) }

// SetOutput makes b the output of the running export.
func SetOutput(b []byte) { outputSet(block(b), uint64(len(b))) }

// SetError gives the reason for a result other than 0.
func SetError(text string) { errorSet(block([]byte(text))) }

// exchange is one call: argument block in, reply block out, both freed.
func exchange(call func(uint64) uint64, arg []byte) []byte {
	in := block(arg)
	out := call(in)
	if in != 0 {
		free(in)
	}
	if out == 0 {
		return nil
	}
	return take(out)
}

// take reads a whole block and gives it back to the host. It never returns nil.
func take(off uint64) []byte {
	b := load(off, length(off))
	free(off)
	return b
}

// block allocates a block with b in it, or 0 for nothing.
func block(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	off := alloc(uint64(len(b)))
	if off == 0 {
		panic("portcullis: the host has no memory left for this call")
	}
	store(off, b)
	return off
}
