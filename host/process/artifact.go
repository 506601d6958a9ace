package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Artifacts keeps whole outputs in a folder of the home, each in a file that only its owner can read, and lets the oldest
// go when there are too many. It is safe for concurrent use by one process; files of a crashed one count and go like others.
type Artifacts struct {
	Dir   string // absolute; made when the first is kept
	Each  int64  // bytes of one at the most; what is over is counted and dropped
	Count int    // how many are kept
	Bytes int64  // how much all of them may have

	mu sync.Mutex // held while the folder is swept
}

// Defaults of [Artifacts].
const (
	DefaultArtifact      = 64 << 20
	DefaultArtifacts     = 200
	DefaultArtifactTotal = 1 << 30
)

// Kept is one artifact being written.
type Kept struct {
	name string
	file *os.File
	left int64
	lost int64
}

// Create begins an artifact. Names sort by age: they begin with an id that does; letters, digits, _ - and . only.
func (a *Artifacts) Create(name string) (*Kept, error) {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" || name[0] == '.' {
		return nil, fmt.Errorf("process: %q is no name of an artifact", name)
	}
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("process: make the folder of artifacts: %w", err)
	}
	if err := a.sweep(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(a.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|openFlags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("process: keep an artifact: %w", err)
	}
	return &Kept{name: name, file: f, left: a.Each}, nil
}

// Write keeps what fits and counts the rest.
func (k *Kept) Write(p []byte) (int, error) {
	fits := p[:min(int64(len(p)), k.left)]
	n, err := k.file.Write(fits)
	k.left -= int64(n)
	k.lost += int64(len(p) - len(fits))
	if err != nil {
		return n, fmt.Errorf("process: write artifact %s: %w", k.name, err)
	}
	return len(p), nil
}

// Lost is how many bytes did not fit.
func (k *Kept) Lost() int64 { return k.lost }

// Close ends the artifact.
func (k *Kept) Close() error { return k.file.Close() }

// sweep removes the oldest until there is room for one more of the largest size.
func (a *Artifacts) sweep() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	entries, err := os.ReadDir(a.Dir) // sorted by name, and so by age
	if err != nil {
		return fmt.Errorf("process: look through the artifacts: %w", err)
	}
	var total int64
	sizes := make([]int64, len(entries))
	for i, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sizes[i] = info.Size()
			total += info.Size()
		}
	}
	for i, e := range entries {
		if len(entries)-i < a.Count && total+a.Each <= a.Bytes {
			break
		}
		if err := os.Remove(filepath.Join(a.Dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("process: let an old artifact go: %w", err)
		}
		total -= sizes[i]
	}
	return nil
}

// List names what is kept, the oldest first.
func (a *Artifacts) List() ([]string, error) {
	entries, err := os.ReadDir(a.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("process: list the artifacts: %w", err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	slices.Sort(out)
	return out, nil
}

var _ io.WriteCloser = (*Kept)(nil)
