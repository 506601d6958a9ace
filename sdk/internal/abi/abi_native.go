//go:build !wasip1

package abi

// The stand-in for every import. A test hands its own host to the handler and
// never gets here.

func outside(name string) uint64 {
	panic("portcullis: " + name + " exists inside a guest only; in a test use sdk/plugintest")
}

func inputLength() uint64        { return outside("input_length") }
func inputOffset() uint64        { return outside("input_offset") }
func alloc(uint64) uint64        { return outside("alloc") }
func free(uint64)                { outside("free") }
func length(uint64) uint64       { return outside("length") }
func outputSet(_, _ uint64)      { outside("output_set") }
func errorSet(uint64)            { outside("error_set") }
func configGet(uint64) uint64    { return outside("config_get") }
func load(_, _ uint64) []byte    { outside("portcullis_load"); return nil }
func store(uint64, []byte)       { outside("portcullis_store") }
func hostLog(uint64) uint64      { return outside("portcullis_log") }
func hostEmit(uint64) uint64     { return outside("portcullis_emit") }
func hostNow(uint64) uint64      { return outside("portcullis_now") }
func hostRandom(uint64) uint64   { return outside("portcullis_random") }
func hostHTTP(uint64) uint64     { return outside("portcullis_http") }
func hostFSStat(uint64) uint64   { return outside("portcullis_fs_stat") }
func hostFSRead(uint64) uint64   { return outside("portcullis_fs_read") }
func hostFSList(uint64) uint64   { return outside("portcullis_fs_list") }
func hostFSWrite(uint64) uint64  { return outside("portcullis_fs_write") }
func hostFSMkdir(uint64) uint64  { return outside("portcullis_fs_mkdir") }
func hostFSRemove(uint64) uint64 { return outside("portcullis_fs_remove") }
func hostFSRename(uint64) uint64 { return outside("portcullis_fs_rename") }
func hostKVGet(uint64) uint64    { return outside("portcullis_kv_get") }
func hostKVSet(uint64) uint64    { return outside("portcullis_kv_set") }
func hostKVDelete(uint64) uint64 { return outside("portcullis_kv_delete") }
func hostKVList(uint64) uint64   { return outside("portcullis_kv_list") }
func hostSign(uint64) uint64     { return outside("portcullis_sign") }
