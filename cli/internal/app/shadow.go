package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// Shadow is a host of the real home over a copy of its database in a folder of its own: it can be asked everything
// and changes nothing, neither a byte nor a time of the home. It takes no lock. It is for looking: it must run no
// turn and no effect.
type Shadow struct {
	*host.Host
	store *sqlite.Store
	dir   string
}

// OpenShadow copies the database, if there is one, and opens a host over the copy. The errors are those of
// [Home.OpenHost].
func (h Home) OpenShadow(ctx context.Context) (_ *Shadow, err error) {
	s := &Shadow{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "portcullis-look-"); err != nil {
		return nil, fmt.Errorf("app: make a folder for looking: %w", err)
	}
	copied := filepath.Join(s.dir, DatabaseName)
	for _, suffix := range []string{"", "-wal"} {
		if err := copyFile(h.Join(DatabaseName)+suffix, copied+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("app: copy the database: %w", err)
		}
	}
	s.store, err = sqlite.Open(ctx, sqlite.Config{Path: copied, Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)})
	if err != nil {
		return nil, err
	}
	s.Host, err = host.Open(ctx, host.Config{Home: h.Path, Store: s.store, CacheDir: filepath.Join(s.dir, CacheName)})
	return s, err
}

// Close removes the copy.
func (s *Shadow) Close() error {
	var errs []error
	if s.Host != nil {
		errs = append(errs, s.Host.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
