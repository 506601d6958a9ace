package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/shellword"
)

// maxProgram bounds an executable that is hashed.
const maxProgram = 1 << 30

// Pinned is an executable that was found, judged, opened and hashed. Close lets it go.
type Pinned struct {
	Asked  string   // as it was named
	Found  string   // absolute, before links: what a rule names
	Path   string   // absolute, links resolved
	Digest string   // sha256 of the content, lower-case hex
	Script bool     // it begins with #!
	Runner []string // of a script: interpreter and its argument, as its first line has them
	Seen   Seen
	file   *os.File
}

// Close closes the file. It may be called again.
func (p *Pinned) Close() error {
	if p == nil || p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}

// Codes of a [PinError].
const (
	NotFound     = "not_found"
	NotAFile     = "not_a_file"
	NotExecuting = "not_executable"
	NotReadable  = "not_readable"
	SetID        = "set_id" // it would run as somebody else, whom the host cannot end
	OthersWrite  = "writable_by_others"
	Inside       = "in_workspace"
)

// PinError reports an executable that is not to be run. Want says what to do about it.
type PinError struct {
	Code string
	Path string
	Why  string
	Want string // what to type or change, or empty
}

// Error says what is wrong with which file.
func (e *PinError) Error() string { return fmt.Sprintf("%s %s", e.Path, e.Why) }

// Finder finds executables. Path is the list of folders that names without a slash are looked up in; those that are not
// absolute are skipped.
type Finder struct {
	Path    []string
	Digests *Digests
	UID     int // whose files are trusted beside root's; -1: owners are not looked at
}

// Folders splits a PATH and keeps what is absolute and clean.
func Folders(path string) []string {
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !slices.Contains(out, filepath.Clean(dir)) {
			out = append(out, filepath.Clean(dir))
		}
	}
	return out
}

// Look says where a program would be found, links not resolved: the first regular file with an execute bit of the path, or
// name itself, below dir when it is relative. The error is a [*PinError].
func (f Finder) Look(name, dir string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return filepath.Clean(name), nil
	}
	for _, folder := range f.Path {
		at := filepath.Join(folder, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", &PinError{NotFound, name, "is in no folder of PATH", "name it by its path from / on, or install it"}
}

// Pin finds, judges, opens and hashes an executable. workspace is the folder that executables must not lie in; empty allows
// them everywhere. The error is a [*PinError] when the file is at fault.
func (f Finder) Pin(ctx context.Context, name, dir, workspace string) (*Pinned, error) {
	found, err := f.Look(name, dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(found)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &PinError{NotFound, found, "does not exist", ""}
	}
	if err != nil {
		return nil, &PinError{NotReadable, found, "cannot be looked at", ""}
	}
	// Only a regular file is opened: to open another can wait for ever, or do something.
	info, err := os.Lstat(real)
	if err != nil || !info.Mode().IsRegular() {
		return nil, &PinError{NotAFile, real, "is not a file", "name a program"}
	}
	if workspace != "" && (Below(workspace, real) || Below(workspace, found)) {
		return nil, &PinError{Inside, real, "lies in the workspace, where the agent may write", "workspace_programs: true below process in the core allows that"}
	}
	if no := f.judge(real, info); no != nil {
		return nil, no
	}
	file, err := os.OpenFile(real, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, &PinError{NotReadable, real, "cannot be read, so that it cannot be pinned", "chmod +r " + shellword.Quote(real)}
	}
	p := &Pinned{Asked: name, Found: found, Path: real, file: file}
	if err := p.read(ctx, f.Digests); err != nil {
		_ = p.Close() // it was only read
		return nil, err
	}
	return p, nil
}

func (p *Pinned) read(ctx context.Context, digests *Digests) (err error) {
	if p.Seen, p.Digest, err = digests.Of(ctx, p.file, p.Path, maxProgram); err != nil {
		return err
	}
	first := make([]byte, 256)
	n, _ := p.file.ReadAt(first, 0)
	line, isScript := bytes.CutPrefix(first[:n], []byte("#!"))
	if !isScript {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	p.Script = true
	if runner, more, _ := strings.Cut(strings.TrimSpace(string(line)), " "); runner != "" {
		p.Runner = append([]string{runner}, strings.Fields(more)...)
	}
	return nil
}

// judge is what the file's modes and its folders say.
func (f Finder) judge(real string, info fs.FileInfo) error {
	mode := info.Mode()
	switch uid, known := owner(info); {
	case mode&0o111 == 0:
		return &PinError{NotExecuting, real, "is not executable", "chmod +x " + shellword.Quote(real)}
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return &PinError{SetID, real, "runs with the rights of another user or group", "run a program without that mode"}
	case mode&0o022 != 0 && modesCount:
		return &PinError{OthersWrite, real, "can be written by others", "chmod go-w " + shellword.Quote(real)}
	case known && f.UID >= 0 && uid != 0 && uid != f.UID:
		return &PinError{OthersWrite, real, "belongs to another user", "use one that belongs to root or you"}
	}
	for dir := filepath.Dir(real); modesCount; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return &PinError{NotReadable, dir, "cannot be looked at", ""}
		}
		if info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return &PinError{OthersWrite, dir, "can be written by everybody, so that what lies in it can be exchanged", "chmod o-w " + shellword.Quote(dir)}
		}
		if uid, known := owner(info); known && f.UID >= 0 && uid != 0 && uid != f.UID {
			return &PinError{OthersWrite, dir, "belongs to another user, who can exchange what lies in it", "use a program in a folder of root's or yours"}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return nil
}

// Unchanged reports whether what is open still has the content that was pinned, reading it again where it may have
// changed.
func (p *Pinned) Unchanged(ctx context.Context, digests *Digests) bool {
	if p == nil || p.file == nil {
		return false
	}
	now, digest, err := digests.Of(ctx, p.file, p.Path, maxProgram)
	return err == nil && now == p.Seen && digest == p.Digest
}

// OpenToRead opens a file as pinning does: without following a link in its last place, and without waiting where it is no
// file.
func OpenToRead(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, fmt.Errorf("process: open %s: %w", path, err)
	}
	return f, nil
}

// Verify reports whether the path still leads to the very file that is open, unchanged.
func (p *Pinned) Verify() bool {
	if p.file == nil {
		return false
	}
	info, err := p.file.Stat()
	return err == nil && p.Seen.same(seen(p.Path, info)) && p.Seen.still()
}

// Below reports whether path is folder or below it, both as they are and with links of the folder resolved.
func Below(folder, path string) bool {
	for _, at := range []string{folder, resolved(folder)} {
		if rel, err := filepath.Rel(at, path); err == nil && (rel == "." || filepath.IsLocal(rel)) {
			return true
		}
	}
	return false
}

func resolved(folder string) string {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		return real
	}
	return folder
}
