package wire

// ABI is the one guest contract this package describes. A manifest that names
// another is refused.
const ABI = "portcullis/v1"

// KindTool is the kind of a plugin whose exports serve tools.
const KindTool = "tool"

// Modules a guest may import from.
const (
	// ModuleKernel holds the Extism kernel functions: blocks, input, output.
	ModuleKernel = "extism:host/env"
	// ModuleHost holds the host functions of Portcullis.
	ModuleHost = "extism:host/user"
	// ModuleWASI is WASI preview 1, which the Go runtime needs for clock,
	// randomness and stderr. The host mounts no directory into it.
	ModuleWASI = "wasi_snapshot_preview1"
)

// Exports of a guest. Each is () -> i32 where 0 means that an output was set.
const (
	// ExportInitialize runs once before any other export (WASI reactor).
	ExportInitialize = "_initialize"
	// ExportDescribe answers a [Description]; it is called at build time only.
	ExportDescribe = "portcullis_describe"
	// ExportInvoke turns one [Call] into one [Reply].
	ExportInvoke = "portcullis_invoke"
	// ExportReconcile turns one [Call], made earlier and with an end that nobody saw, into one [Reconciliation].
	ExportReconcile = "portcullis_reconcile"
)

// Host functions, all in [ModuleHost].
const (
	ImportLog      = "portcullis_log"       // [LogRecord] as JSON; reply 0 or [Ack]
	ImportEmit     = "portcullis_emit"      // [Progress] as JSON; reply 0 or [Ack]
	ImportNow      = "portcullis_now"       // argument 0 or empty; reply [Now] as JSON
	ImportRandom   = "portcullis_random"    // [RandomRequest] as JSON; reply raw bytes, 0 when refused
	ImportHTTP     = "portcullis_http"      // frame [HTTPRequest]+body; reply frame [HTTPReply]+body
	ImportFSStat   = "portcullis_fs_stat"   // frame [FSStatRequest]; reply frame [FSStatReply]
	ImportFSRead   = "portcullis_fs_read"   // frame [FSReadRequest]; reply frame [FSReadReply]+content
	ImportFSList   = "portcullis_fs_list"   // frame [FSListRequest]; reply frame [FSListReply]
	ImportFSWrite  = "portcullis_fs_write"  // frame [FSWriteRequest]+content; reply frame [Ack]
	ImportFSMkdir  = "portcullis_fs_mkdir"  // frame [FSMkdirRequest]; reply frame [Ack]
	ImportFSRemove = "portcullis_fs_remove" // frame [FSRemoveRequest]; reply frame [Ack]
	ImportFSRename = "portcullis_fs_rename" // frame [FSRenameRequest]; reply frame [Ack]
	ImportKVGet    = "portcullis_kv_get"    // frame [KVGetRequest]; reply frame [KVGetReply]+value
	ImportKVSet    = "portcullis_kv_set"    // frame [KVSetRequest]+value; reply frame [KVSetReply]
	ImportKVDelete = "portcullis_kv_delete" // frame [KVDeleteRequest]; reply frame [Ack]
	ImportKVList   = "portcullis_kv_list"   // frame [KVListRequest]; reply frame [KVListReply]
	ImportSign     = "portcullis_sign"      // frame [SignRequest]+bytes; reply frame [SignReply]+code

	// ImportLoad copies a block into the caller's memory and ImportStore the
	// other way: (block offset i64, pointer i32, bytes i32), no result. Out of
	// range is a trap. They need no capability: both ends are the guest's own.
	ImportLoad  = "portcullis_load"
	ImportStore = "portcullis_store"
)

// Capability names that an import can need.
const (
	CapFSRead     = "fs.read"
	CapFSWrite    = "fs.write"
	CapKV         = "kv"
	CapNetFetch   = "net.fetch"
	CapSecretBind = "secret.bind"
)

// Import is what the contract knows about one import of a guest.
type Import struct {
	// Needs is the capability without which the import must not be linked, or
	// empty. [CapNetFetch] means some net.fetch:<host>, and [CapSecretBind] some
	// secret.bind:<name>: which is checked when the call is made.
	Needs string
	// Refused says, for an import that no guest gets, what to use instead.
	Refused string
}

// LookupImport finds an import by module and name. ok is false when neither the
// Extism ABI nor Portcullis knows the name: such a module must not be loaded.
// Every name of [ModuleWASI] is known; the engine decides which it serves.
func LookupImport(module, name string) (imp Import, ok bool) {
	switch module {
	case ModuleKernel:
		return kernelImport(name)
	case ModuleHost:
		return hostImport(name)
	case ModuleWASI:
		return Import{}, true
	}
	return Import{}, false
}

// kernelImport is the Extism kernel as far as it is served. The refused five
// would let a guest reach the network past the URL policy, or keep state
// between calls that must not see each other.
func kernelImport(name string) (Import, bool) {
	switch name {
	case "input_length", "input_offset", "input_load_u8", "input_load_u64",
		"load_u8", "load_u64", "store_u8", "store_u64",
		"alloc", "free", "length", "length_unsafe",
		"output_set", "error_set", "error_get", "config_get",
		"log_trace", "log_debug", "log_info", "log_warn", "log_error", "get_log_level":
		return Import{}, true
	case "http_request", "http_status_code", "http_headers":
		return Import{Refused: "use " + ModuleHost + "." + ImportHTTP + " and ask for net.fetch"}, true
	case "var_get":
		return Import{Refused: "use " + ModuleHost + "." + ImportKVGet + " and ask for kv"}, true
	case "var_set":
		return Import{Refused: "use " + ModuleHost + "." + ImportKVSet + " and ask for kv"}, true
	}
	return Import{}, false
}

func hostImport(name string) (Import, bool) {
	switch name {
	case ImportLog, ImportEmit, ImportNow, ImportRandom, ImportLoad, ImportStore:
		return Import{}, true
	case ImportHTTP:
		return Import{Needs: CapNetFetch}, true
	case ImportFSStat, ImportFSRead, ImportFSList:
		return Import{Needs: CapFSRead}, true
	case ImportFSWrite, ImportFSMkdir, ImportFSRemove, ImportFSRename:
		return Import{Needs: CapFSWrite}, true
	case ImportKVGet, ImportKVSet, ImportKVDelete, ImportKVList:
		return Import{Needs: CapKV}, true
	case ImportSign:
		return Import{Needs: CapSecretBind}, true
	}
	return Import{}, false
}

// JoinImport is the one spelling of an import in manifests and messages:
// module, dot, name.
func JoinImport(module, name string) string { return module + "." + name }

// SplitImport undoes [JoinImport] for every module this package knows: none of
// them has a dot, so the first dot ends the module.
func SplitImport(s string) (module, name string, ok bool) {
	for i := range len(s) {
		if s[i] == '.' {
			return s[:i], s[i+1:], i > 0 && i+1 < len(s)
		}
	}
	return "", "", false
}
