package sdk

import (
	"context"
	"io/fs"
	"iter"
	"time"
)

// Host is what a handler can do beyond computing. It is valid during the call
// it was given to and for one goroutine.
type Host interface {
	// Log writes one line to the operator's log; attrs are key, value, key,
	// value. It never fails: the host drops what is too much. Never log a
	// secret or a whole document.
	Log(level Level, msg string, attrs ...any)
	// Progress tells people who watch how far the call is; total is 0 when not
	// known. It never fails.
	Progress(msg string, done, total int64)
	// Do performs one HTTP exchange. Needs net.fetch. Every status is a
	// response, not an error. ctx bounds the time, and so does the call.
	Do(ctx context.Context, req *Request) (*Response, error)
	// Files is the workspace. Reading needs fs.read, writing fs.write.
	Files() Files
	// KV is the plugin's own store for the principal it runs for. Needs kv.
	KV() KV
	// Now is the host's clock, in UTC to the millisecond. Needs nothing.
	Now() time.Time
	// Random fills p from the host's random source. Needs nothing. Seeds of
	// math/rand are the same in every call; this is not.
	Random(p []byte) error
	// Setting is the value the operator set, or the default of the manifest,
	// or "" for a name that the plugin did not list. Needs nothing.
	Setting(name string) string
}

// Level is how much a log line matters.
type Level string

// Levels, from least to most.
const (
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// Files is a workspace. Names follow [fs.ValidPath]: slash-separated, relative,
// "." for the top. Errors are [*fs.PathError] and satisfy errors.Is with
// [fs.ErrNotExist], [fs.ErrExist], [fs.ErrPermission] and the codes of this
// package. It is an [fs.FS], so fs.WalkDir, fs.Glob and template.ParseFS work.
type Files interface {
	fs.StatFS     // Open and Stat
	fs.ReadFileFS // whole file
	fs.ReadDirFS  // sorted by name

	// ReadRange reads up to len(p) bytes from offset. n < len(p) means the end
	// of the file was reached; it is not an error, and n is 0 beyond the end.
	ReadRange(name string, p []byte, offset int64) (n int, err error)
	// WriteFile writes a file whole or not at all, at most 16 MiB.
	WriteFile(name string, data []byte, mode WriteMode) error
	// MkdirAll makes a directory and those above it; it may be there already.
	MkdirAll(name string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// Rename moves a file or directory; a file at the new name is replaced.
	Rename(from, to string) error
}

// WriteMode says what happens to what is there.
type WriteMode string

// Write modes.
const (
	Replace WriteMode = "replace" // new, or instead of what was there
	Create  WriteMode = "create"  // fs.ErrExist when the name is taken
	Append  WriteMode = "append"  // at the end; made when missing
)

// KV is a small store of bytes by key. Keys are UTF-8 and at most 512 bytes,
// values at most 1 MiB. The version of a key grows with every write and is 0 for
// a key that is not there.
type KV interface {
	// Get reads a key; errors.Is(err, [NotFound]) when it is not there.
	Get(key string) (value []byte, version int64, err error)
	// Set writes a key whatever is there and returns the version written.
	Set(key string, value []byte) (version int64, err error)
	// CompareAndSet writes a key only when it has the version expected, 0
	// meaning that it is not there; otherwise errors.Is(err, [Conflict]).
	CompareAndSet(key string, value []byte, expected int64) (version int64, err error)
	// Delete removes a key; it may be gone already.
	Delete(key string) error
	// List walks the keys with a prefix in byte order, fetching pages as it
	// goes. It stops after the first error.
	List(prefix string) iter.Seq2[KVEntry, error]
}

// KVEntry is one key of a list.
type KVEntry struct {
	Key     string
	Version int64
	Size    int64 // bytes of the value
}
