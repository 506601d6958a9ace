//go:build wasip1

package abi

import "unsafe"

// The Extism kernel functions that a Go guest needs.

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_offset
func inputOffset() uint64

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env free
func free(off uint64)

//go:wasmimport extism:host/env length
func length(off uint64) uint64

//go:wasmimport extism:host/env output_set
func outputSet(off, n uint64)

//go:wasmimport extism:host/env error_set
func errorSet(off uint64)

//go:wasmimport extism:host/env config_get
func configGet(key uint64) uint64

// The bulk copies.

//go:wasmimport extism:host/user portcullis_load
func loadBlock(off uint64, to unsafe.Pointer, n uint32)

//go:wasmimport extism:host/user portcullis_store
func storeBlock(off uint64, from unsafe.Pointer, n uint32)

// load copies n bytes of a block out. It never returns nil.
func load(off, n uint64) []byte {
	if n == 0 {
		return []byte{}
	}
	b := make([]byte, n)
	loadBlock(off, unsafe.Pointer(unsafe.SliceData(b)), uint32(n))
	return b
}

// store copies b, which is not empty, into a block.
func store(off uint64, b []byte) {
	storeBlock(off, unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
}

// The host functions.

//go:wasmimport extism:host/user portcullis_log
func hostLog(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_emit
func hostEmit(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_now
func hostNow(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_random
func hostRandom(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_http
func hostHTTP(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_fs_stat
func hostFSStat(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_fs_read
func hostFSRead(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_fs_list
func hostFSList(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_fs_write
func hostFSWrite(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_fs_mkdir
func hostFSMkdir(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_fs_remove
func hostFSRemove(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_fs_rename
func hostFSRename(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_kv_get
func hostKVGet(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_kv_set
func hostKVSet(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_kv_delete
func hostKVDelete(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_kv_list
func hostKVList(arg uint64) uint64

//go:wasmimport extism:host/user portcullis_sign
func hostSign(arg uint64) uint64
