package wire

// Keys are UTF-8, 1 to [MaxKVKey] bytes, seen by one plugin on behalf of one
// principal only. A version is 1 for a key that was never there, one more with each
// write, at most 2^53-1, and 0 for a key that is not there; a key that is removed
// and made again goes on from a higher one.

// KVGetRequest asks for one key.
type KVGetRequest struct {
	Key string `json:"key"`
}

// KVGetReply comes with the value; a missing key is the fault not_found.
type KVGetReply struct {
	Version int64  `json:"version,omitempty"`
	Fault   *Fault `json:"fault,omitempty"`
}

// KVSetRequest comes with the value, at most [MaxKVValue] bytes. With IfVersion
// the write happens only when the key has that version (0: is not there), else
// the answer is the fault conflict.
type KVSetRequest struct {
	Key       string `json:"key"`
	IfVersion *int64 `json:"if_version,omitempty"`
}

// KVSetReply tells the version written.
type KVSetReply struct {
	Version int64  `json:"version,omitempty"`
	Fault   *Fault `json:"fault,omitempty"`
}

// KVDeleteRequest removes a key, under the same condition. A key that is not
// there is no fault unless IfVersion says otherwise.
type KVDeleteRequest struct {
	Key       string `json:"key"`
	IfVersion *int64 `json:"if_version,omitempty"`
}

// KVListRequest asks for one page of keys, in byte order.
type KVListRequest struct {
	Prefix string `json:"prefix,omitempty"`
	After  string `json:"after,omitempty"` // only keys greater than this
	Limit  int    `json:"limit,omitempty"` // 0 means [MaxListEntries]
}

// KVListReply is the page. It ends early when the header would pass
// [MaxHeaderBytes]; More says that keys greater than the last remain.
type KVListReply struct {
	Entries []KVEntry `json:"entries,omitempty"`
	More    bool      `json:"more,omitempty"`
	Fault   *Fault    `json:"fault,omitempty"`
}

// KVEntry is one key without its value.
type KVEntry struct {
	Key     string `json:"key"`
	Version int64  `json:"version"`
	Size    int64  `json:"size"` // bytes of the value
}
