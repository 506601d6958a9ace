package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// maxNames bounds one directory that is listed.
const maxNames = 100_000

func infoOf(name string, i fs.FileInfo) wire.FileInfo {
	info := wire.FileInfo{Name: name, Kind: wire.FileOther, ModUnixMS: i.ModTime().UnixMilli()}
	switch {
	case i.IsDir():
		info.Kind = wire.FileDir
	case i.Mode().IsRegular():
		info.Kind, info.Size = wire.FileRegular, i.Size()
	}
	return info
}

func (s *Session) fileStat(_ context.Context, req wire.FSStatRequest, _ []byte) (any, []byte, *wire.Fault) {
	dir, name, f := s.fileAt(req.Path, false)
	if f != nil {
		return nil, nil, f
	}
	at, f := s.enter(dir, false)
	if f != nil {
		return nil, nil, f
	}
	defer at.Close()
	i, err := at.Lstat(name)
	if err != nil {
		return nil, nil, fileFault(err, req.Path)
	}
	info := infoOf(name, i)
	return wire.FSStatReply{Info: &info}, nil, nil
}

func (s *Session) fileRead(_ context.Context, req wire.FSReadRequest, _ []byte) (any, []byte, *wire.Fault) {
	if req.Offset < 0 || req.Length < 0 || req.Length > wire.MaxReadBytes {
		return nil, nil, faultf(wire.CodeInvalid, "offset and length cannot be negative, and one read has at most %d bytes", wire.MaxReadBytes)
	}
	dir, name, f := s.fileAt(req.Path, false)
	if f != nil {
		return nil, nil, f
	}
	at, f := s.enter(dir, false)
	if f != nil {
		return nil, nil, f
	}
	defer at.Close()
	file, info, err := openRegular(at, name, os.O_RDONLY)
	if err != nil {
		return nil, nil, fileFault(err, req.Path)
	}
	defer file.Close()
	n := max(0, info.Size()-req.Offset)
	if want := req.Length; want > 0 {
		n = min(n, want)
	}
	n = min(n, wire.MaxReadBytes)
	if f := s.spendFile(n); f != nil {
		return nil, nil, f
	}
	data := make([]byte, n)
	got, err := file.ReadAt(data, req.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fileFault(err, req.Path)
	}
	end := req.Offset+int64(got) >= info.Size()
	return wire.FSReadReply{Size: info.Size(), EOF: end}, data[:got], nil
}

// spendFile books file bytes before they are moved.
func (s *Session) spendFile(n int64) *wire.Fault {
	if s.stats.FileBytes+n > s.limits.FileBytes {
		return faultf(wire.CodeTooLarge, "this call may read and write %d bytes of files", s.limits.FileBytes)
	}
	s.stats.FileBytes += n
	return nil
}

func (s *Session) fileList(ctx context.Context, req wire.FSListRequest, _ []byte) (any, []byte, *wire.Fault) {
	limit, f := pageLimit(req.Limit)
	if f != nil {
		return nil, nil, f
	}
	if _, _, f := s.fileAt(req.Path, false); f != nil {
		return nil, nil, f
	}
	at, f := s.enter(req.Path, false)
	if f != nil {
		return nil, nil, f
	}
	defer at.Close()
	names, err := readNames(ctx, at, req.After)
	if err != nil {
		return nil, nil, fileFault(err, req.Path)
	}
	if len(names) > maxNames {
		return nil, nil, faultf(wire.CodeTooLarge, "%q has more than %d entries", req.Path, maxNames)
	}
	slices.Sort(names)
	reply := wire.FSListReply{}
	for _, name := range names {
		if len(reply.Entries) == limit {
			reply.More = true
			break
		}
		if i, err := at.Lstat(name); err == nil { // else it went away meanwhile
			reply.Entries = append(reply.Entries, infoOf(name, i))
		}
	}
	if kept := fitPage(reply.Entries); kept < len(reply.Entries) {
		reply.Entries, reply.More = reply.Entries[:kept], true
	}
	return reply, nil, nil
}

// readNames reads the names greater than after, at most one more than maxNames.
// Names that are not UTF-8 are left out: no path can say them.
func readNames(ctx context.Context, at *os.Root, after string) ([]string, error) {
	dir, err := at.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var names []string
	for len(names) <= maxNames && ctx.Err() == nil {
		batch, err := dir.Readdirnames(1024)
		for _, name := range batch {
			if name > after && utf8.ValidString(name) {
				names = append(names, name)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}
