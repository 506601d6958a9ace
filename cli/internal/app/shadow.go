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
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// Shadow is a host of the real home over a copy of its database in a folder of its own: it can be asked everything
// and changes nothing, neither a byte nor a time of the home. It takes no lock. It is for looking: it must run no
// turn and no effect.
type Shadow struct {
	*host.Host
	// Left are the turns that an earlier process left running: the next one that runs turns here will end them so.
	Left []turn.Recovered
	// Waiting is what waits for a person.
	Waiting Waiting

	store *sqlite.Store
	dir   string
}

// watched is a store that tells what a starting host had to end.
type watched struct {
	*sqlite.Store
	left *[]turn.Recovered
}

// Recover is the store's, and keeps its answer.
func (w watched) Recover(ctx context.Context, epoch id.Epoch, now time.Time) ([]turn.Recovered, error) {
	ended, err := w.Store.Recover(ctx, epoch, now)
	*w.left = ended
	return ended, err
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
	ids := id.NewSource(time.Now, rand.Reader)
	s.store, err = sqlite.Open(ctx, sqlite.Config{Path: copied, Clock: time.Now, IDs: ids})
	if err != nil {
		return nil, s.placed(h, storeProblem(h, err))
	}
	if s.Waiting, err = waitingIn(ctx, s.store, ids, time.Now()); err != nil {
		return nil, s.placed(h, storeProblem(h, err))
	}
	compiler, err := sandbox.SelfCompiler()
	if err != nil {
		return nil, err
	}
	keeper, err := process.SelfKeeper()
	if err != nil {
		return nil, err
	}
	s.Host, err = host.Open(ctx, host.Config{
		Home: h.Path, Store: watched{s.store, &s.Left}, CacheDir: filepath.Join(s.dir, CacheName), Compiler: compiler, Keeper: keeper,
	})
	return s, err
}

// Seen is up to when what a schedule of a core was due is dealt with; now when no host has looked at it as it is.
func (s *Shadow) Seen(ctx context.Context, coreID string, sch core.Schedule, now time.Time) (time.Time, error) {
	return s.store.SeeSchedule(ctx, coreID, sch.ID, sch.Digest(), now) // the copy's: the home stays as it is
}

// placed says of a failure of the copy where the database really is.
func (s *Shadow) placed(h Home, err error) error {
	var p *console.Problem
	if !errors.As(err, &p) {
		return err
	}
	there := *p
	there.Message = strings.ReplaceAll(p.Message, s.dir+string(filepath.Separator), h.Path+string(filepath.Separator))
	return &there
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
