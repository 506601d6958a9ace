package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Digests computes sha256 of files and remembers it for those that cannot have changed since. It is safe for concurrent
// use; its zero value is ready.
type Digests struct {
	Clock func() time.Time // nil: time.Now

	mu    sync.Mutex // guards known
	known map[Seen]string
}

const (
	// settled is how long a file must have been left alone before its digest is remembered: a write in the tick of the
	// clock in which it was read would not show.
	settled = 2 * time.Second
	// maxKnown bounds what is remembered; one that is over it is computed again.
	maxKnown = 512
)

// Of returns what f is and the sha256 of its content in lower-case hex. f must be a regular file of at most limit bytes, open
// for reading; its offset is moved. path is what the answer calls it.
func (d *Digests) Of(ctx context.Context, f *os.File, path string, limit int64) (Seen, string, error) {
	before, err := f.Stat()
	if err != nil {
		return Seen{}, "", fmt.Errorf("process: look at %s: %w", path, err)
	}
	if !before.Mode().IsRegular() || before.Size() > limit {
		return Seen{}, "", fmt.Errorf("process: %s is no regular file of at most %d bytes", path, limit)
	}
	s := seen(path, before)
	d.mu.Lock()
	digest, ok := d.known[s]
	d.mu.Unlock()
	if ok {
		return s, digest, nil
	}
	digest, err = sum(ctx, f, s.Size)
	if err != nil {
		return Seen{}, "", fmt.Errorf("process: read %s: %w", path, err)
	}
	after, err := f.Stat()
	if err != nil || !s.same(seen(path, after)) {
		return Seen{}, "", fmt.Errorf("process: %s changed while it was read", path)
	}
	d.keep(s, digest)
	return s, digest, nil
}

func (d *Digests) keep(s Seen, digest string) {
	now := time.Now
	if d.Clock != nil {
		now = d.Clock
	}
	if s.Changed == 0 || now().Sub(time.Unix(0, max(s.Changed, s.Modified))) < settled {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxKnown {
		d.known = map[Seen]string{}
	}
	d.known[s] = digest
}

// sum reads in pieces, so that a long file does not outlive ctx.
func sum(ctx context.Context, f *os.File, size int64) (string, error) {
	h := sha256.New()
	buf := make([]byte, 256<<10)
	for at := int64(0); at < size; {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		h.Write(buf[:n])
		at += int64(n)
		if err != nil && (err != io.EOF || at < size) {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
