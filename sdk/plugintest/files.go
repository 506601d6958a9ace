package plugintest

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// files is a workspace by path; "." is always there.
type files map[string]node

type node struct {
	dir     bool
	content []byte
	mod     time.Time
}

func (f files) put(name, content string) {
	if dir, ok := strings.CutSuffix(name, "/"); ok {
		f.mkdir(dir, time.Time{})
		return
	}
	f.mkdir(path.Dir(name), time.Time{})
	f[name] = node{content: []byte(content)}
}

func (f files) get(name string) (string, bool) {
	n, ok := f[name]
	return string(n.content), ok && !n.dir
}

func (f files) names() []string {
	var out []string
	for name, n := range f {
		if !n.dir {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (f files) mkdir(name string, mod time.Time) *sdk.Fault {
	for ; name != "."; name = path.Dir(name) {
		if n, ok := f[name]; ok && !n.dir {
			return &sdk.Fault{Code: sdk.Exists, Message: name + " is a file"}
		} else if !ok {
			f[name] = node{dir: true, mod: mod}
		}
	}
	return nil
}

func missing(name string) *sdk.Fault {
	return &sdk.Fault{Code: sdk.NotFound, Message: name + " does not exist"}
}

func badPath(names ...string) *sdk.Fault {
	for _, name := range names {
		if !fs.ValidPath(name) || len(name) > wire.MaxPath {
			return &sdk.Fault{Code: sdk.Invalid, Message: name + " is not a workspace path"}
		}
	}
	return nil
}

func (f files) serve(t testing.TB, now time.Time, function string, header, body []byte) []byte {
	t.Helper()
	switch function {
	case wire.ImportFSStat:
		return frame(t, f.stat(decode[wire.FSStatRequest](t, header, wire.MaxHeaderBytes)), nil)
	case wire.ImportFSRead:
		reply, out := f.read(decode[wire.FSReadRequest](t, header, wire.MaxHeaderBytes))
		return frame(t, reply, out)
	case wire.ImportFSList:
		reply := f.list(decode[wire.FSListRequest](t, header, wire.MaxHeaderBytes))
		if n := fit(t, reply.Entries); n < len(reply.Entries) {
			reply.Entries, reply.More = reply.Entries[:n], true
		}
		return frame(t, reply, nil)
	case wire.ImportFSWrite:
		return frame(t, wire.Ack{Fault: f.write(decode[wire.FSWriteRequest](t, header, wire.MaxHeaderBytes), body, now)}, nil)
	case wire.ImportFSMkdir:
		r := decode[wire.FSMkdirRequest](t, header, wire.MaxHeaderBytes)
		fault := badPath(r.Path)
		if fault == nil {
			fault = f.mkdir(r.Path, now)
		}
		return frame(t, wire.Ack{Fault: fault}, nil)
	case wire.ImportFSRemove:
		return frame(t, wire.Ack{Fault: f.remove(decode[wire.FSRemoveRequest](t, header, wire.MaxHeaderBytes).Path)}, nil)
	case wire.ImportFSRename:
		r := decode[wire.FSRenameRequest](t, header, wire.MaxHeaderBytes)
		return frame(t, wire.Ack{Fault: f.rename(r.From, r.To)}, nil)
	}
	t.Fatalf("plugintest: no fake for %s", function)
	return nil
}

func (f files) stat(r wire.FSStatRequest) wire.FSStatReply {
	if fault := badPath(r.Path); fault != nil {
		return wire.FSStatReply{Fault: fault}
	}
	n, ok := f[r.Path]
	if !ok {
		return wire.FSStatReply{Fault: missing(r.Path)}
	}
	info := n.info(r.Path)
	return wire.FSStatReply{Info: &info}
}

func (n node) info(name string) wire.FileInfo {
	info := wire.FileInfo{Name: path.Base(name), Kind: wire.FileRegular, Size: int64(len(n.content)), ModUnixMS: n.mod.UnixMilli()}
	if n.dir {
		info.Kind = wire.FileDir
	}
	return info
}

func (f files) read(r wire.FSReadRequest) (wire.FSReadReply, []byte) {
	n, ok := f[r.Path]
	switch {
	case badPath(r.Path) != nil:
		return wire.FSReadReply{Fault: badPath(r.Path)}, nil
	case !ok:
		return wire.FSReadReply{Fault: missing(r.Path)}, nil
	case n.dir:
		return wire.FSReadReply{Fault: &sdk.Fault{Code: sdk.Invalid, Message: r.Path + " is a directory"}}, nil
	case r.Offset < 0 || r.Length < 0 || r.Length > wire.MaxReadBytes:
		return wire.FSReadReply{Fault: &sdk.Fault{Code: sdk.Invalid, Message: "offset or length is out of range"}}, nil
	}
	size := int64(len(n.content))
	length := cmp.Or(r.Length, wire.MaxReadBytes)
	from := min(r.Offset, size)
	to := min(from+length, size)
	return wire.FSReadReply{Size: size, EOF: to == size}, n.content[from:to]
}

func (f files) list(r wire.FSListRequest) wire.FSListReply {
	n, ok := f[r.Path]
	switch {
	case badPath(r.Path) != nil:
		return wire.FSListReply{Fault: badPath(r.Path)}
	case !ok:
		return wire.FSListReply{Fault: missing(r.Path)}
	case !n.dir:
		return wire.FSListReply{Fault: &sdk.Fault{Code: sdk.Invalid, Message: r.Path + " is not a directory"}}
	}
	var reply wire.FSListReply
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if name == "." || path.Dir(name) != r.Path || path.Base(name) <= r.After {
			continue
		}
		if len(reply.Entries) == cmp.Or(r.Limit, wire.MaxListEntries) {
			reply.More = true
			break
		}
		reply.Entries = append(reply.Entries, f[name].info(name))
	}
	return reply
}

func (f files) write(r wire.FSWriteRequest, body []byte, now time.Time) *sdk.Fault {
	n, there := f[r.Path]
	switch {
	case badPath(r.Path) != nil:
		return badPath(r.Path)
	case n.dir:
		return &sdk.Fault{Code: sdk.Invalid, Message: r.Path + " is a directory"}
	case !f[path.Dir(r.Path)].dir:
		return missing(path.Dir(r.Path))
	}
	content := slices.Clone(body)
	switch r.Mode {
	case wire.WriteReplace:
	case wire.WriteCreate:
		if there {
			return &sdk.Fault{Code: sdk.Exists, Message: r.Path + " exists"}
		}
	case wire.WriteAppend:
		content = slices.Concat(n.content, body)
	default:
		return &sdk.Fault{Code: sdk.Invalid, Message: "mode is not replace, create or append"}
	}
	f[r.Path] = node{content: content, mod: now}
	return nil
}

func (f files) remove(name string) *sdk.Fault {
	n, ok := f[name]
	switch {
	case badPath(name) != nil:
		return badPath(name)
	case !ok:
		return missing(name)
	case name == ".":
		return &sdk.Fault{Code: sdk.Invalid, Message: "the workspace itself stays"}
	case n.dir && len(f.list(wire.FSListRequest{Path: name, Limit: 1}).Entries) > 0:
		return &sdk.Fault{Code: sdk.Invalid, Message: name + " is not empty"}
	}
	delete(f, name)
	return nil
}

func (f files) rename(from, to string) *sdk.Fault {
	if fault := badPath(from, to); fault != nil {
		return fault
	}
	n, ok := f[from]
	target, taken := f[to]
	switch {
	case !ok:
		return missing(from)
	case !f[path.Dir(to)].dir:
		return missing(path.Dir(to))
	case from == ".", to == ".", strings.HasPrefix(to, from+"/"), taken && (target.dir || n.dir) && from != to:
		return &sdk.Fault{Code: sdk.Invalid, Message: "cannot rename " + from + " to " + to}
	}
	for name, moved := range maps.Clone(f) {
		if rest, below := strings.CutPrefix(name, from); below && (rest == "" || rest[0] == '/') {
			delete(f, name)
			f[to+rest] = moved
		}
	}
	return nil
}
