package app

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/store/sqlite"
)

// HostOptions is what a command wants of the host it opens.
type HostOptions struct {
	Command   string            // who holds the home's lock, for other processes' messages
	CacheDir  string            // compiled plugins; see [Home.Cache]
	Prompter  approval.Prompter // nil: nobody can be asked here
	Courier   approval.Courier  // with no Prompter: shows what is waited for; nil: nobody
	Wait      time.Duration     // with no Prompter: how long to wait for another process to decide
	Work      bool              // background tasks run here; see [host.Config]
	WorkOn    id.Task           // this task runs here and no other
	Schedules bool              // schedules run here, and tasks
	Progress  func(line string)
	LogLevel  string    // debug, info, warn, error or off
	LogJSON   bool      // one JSON object for each line
	LogTo     io.Writer // where the log goes, already safe for a terminal
}

// Running is an open host with the store and the lock under it.
type Running struct {
	*host.Host
	open  atomic.Pointer[host.Host] // the same, for the log, which other goroutines write to
	store *sqlite.Store
	lock  *Lock
}

// OpenHost takes the home's lock and opens its host. Close gives everything back.
func (h Home) OpenHost(ctx context.Context, o HostOptions) (_ *Running, err error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	r := &Running{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.shut())
		}
	}()
	if r.lock, err = h.TakeLock(o.Command); err != nil {
		return nil, err
	}
	r.store, err = sqlite.Open(ctx, sqlite.Config{Path: h.Join(DatabaseName), Clock: time.Now, IDs: id.NewSource(time.Now, rand.Reader)})
	if err != nil {
		return nil, storeProblem(h, err)
	}
	compiler, err := sandbox.SelfCompiler()
	if err != nil {
		return nil, err
	}
	keeper, err := process.SelfKeeper()
	if err != nil {
		return nil, err
	}
	r.Host, err = host.Open(ctx, host.Config{
		Home: h.Path, Store: r.store, CacheDir: o.CacheDir, Compiler: compiler, Keeper: keeper, Prompter: o.Prompter, Courier: o.Courier, Wait: o.Wait, Progress: o.Progress, Work: o.Work, WorkOn: o.WorkOn, Schedules: o.Schedules,
		Log: o.logger(r.hidden),
	})
	r.open.Store(r.Host)
	return r, err
}

// hidden is what the host hides; while it is being opened, nothing but names and shapes.
func (r *Running) hidden(ctx context.Context) redact.Set {
	if h := r.open.Load(); h != nil {
		return h.Hidden(ctx)
	}
	return redact.Set{}
}

// Close closes the host, then its store, then lets the home go. It is called once.
func (r *Running) Close() error { return errors.Join(r.Host.Close(), r.shut()) }

func (r *Running) shut() error {
	var errs []error
	if r.store != nil {
		errs = append(errs, r.store.Close())
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Release())
	}
	return errors.Join(errs...)
}
