package wire

// Paths are relative to the workspace, slash-separated, valid for
// [io/fs.ValidPath] ("." is the workspace itself) and at most [MaxPath] bytes.
// The host resolves them inside the workspace and refuses every way out.

// Kinds of a file.
const (
	FileRegular = "file"
	FileDir     = "dir"
	FileOther   = "other" // symlink, device, socket: listed, never followed
)

// FileInfo is one file or directory.
type FileInfo struct {
	Name      string `json:"name"` // last element of the path
	Kind      string `json:"kind"`
	Size      int64  `json:"size"`        // bytes, 0 for a directory
	ModUnixMS int64  `json:"mod_unix_ms"` // milliseconds since 1970 UTC
}

// FSStatRequest asks for one path.
type FSStatRequest struct {
	Path string `json:"path"`
}

// FSStatReply has exactly one of its members.
type FSStatReply struct {
	Info  *FileInfo `json:"info,omitempty"`
	Fault *Fault    `json:"fault,omitempty"`
}

// FSReadRequest asks for Length bytes from Offset, at most [MaxReadBytes];
// Length 0 means as much of that as there is.
type FSReadRequest struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset,omitempty"`
	Length int64  `json:"length,omitempty"`
}

// FSReadReply comes with the bytes read: fewer than asked for only at the end
// of the file, none from beyond it.
type FSReadReply struct {
	Size  int64  `json:"size"` // of the whole file at the time of reading
	EOF   bool   `json:"eof,omitempty"`
	Fault *Fault `json:"fault,omitempty"`
}

// FSListRequest asks for one page of a directory, in byte order of the names.
type FSListRequest struct {
	Path  string `json:"path"`
	After string `json:"after,omitempty"` // only names greater than this
	Limit int    `json:"limit,omitempty"` // 0 means [MaxListEntries]
}

// FSListReply is the page. It ends early when the header would pass
// [MaxHeaderBytes]; More says that names greater than the last remain.
type FSListReply struct {
	Entries []FileInfo `json:"entries,omitempty"`
	More    bool       `json:"more,omitempty"`
	Fault   *Fault     `json:"fault,omitempty"`
}

// Modes of a write. Each write is one step: content is there whole or not at all.
const (
	WriteReplace = "replace" // new or instead of what was there
	WriteCreate  = "create"  // fault exists when the path is there
	WriteAppend  = "append"  // at the end, made when missing
)

// FSWriteRequest comes with the content. Directories above it must be there.
type FSWriteRequest struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
}

// FSMkdirRequest makes a directory and those above it; one that is there
// already is no fault.
type FSMkdirRequest struct {
	Path string `json:"path"`
}

// FSRemoveRequest removes a file or an empty directory.
type FSRemoveRequest struct {
	Path string `json:"path"`
}

// FSRenameRequest moves a file or directory. A file at To is replaced.
type FSRenameRequest struct {
	From string `json:"from"`
	To   string `json:"to"`
}
