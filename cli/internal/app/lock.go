package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/gofrs/flock"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// Lock is the right to run turns in one home. Release gives it back; so does the end of the process.
type Lock struct{ file *flock.Flock }

// TakeLock takes the home's lock without waiting. command is the sub-command that holds it, for the message that
// another process prints; no argument belongs into it. Held by another process, it is a [*console.Problem] with exit
// code 3.
func (h Home) TakeLock(command string) (*Lock, error) {
	l := flock.New(h.Join(lockName), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("app: lock the home: %w", err)
	}
	if !ok {
		return nil, h.busy()
	}
	note := fmt.Sprintf("%d %s\n", os.Getpid(), command)
	if err := os.WriteFile(l.Path(), []byte(note), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("app: write the lock: %w", err), l.Close())
	}
	return &Lock{l}, nil
}

// Release gives the lock back. The file stays: removing it would let two processes lock two files of one name.
func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("app: release the home's lock: %w", err)
	}
	return nil
}

// LockedBy says who runs turns in the home, or "" when nobody does. It changes nothing, not even a lock that is free.
func (h Home) LockedBy() (string, error) {
	l := flock.New(h.Join(lockName), flock.SetFlag(os.O_RDONLY))
	ok, err := l.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("app: look at the home's lock: %w", err)
	case ok:
		return "", l.Close()
	}
	return h.holder(), nil
}

func (h Home) busy() error {
	return &console.Problem{
		Code: "home_busy", Exit: console.ExitHost,
		Message: fmt.Sprintf("%s is running in %s, and one process at a time runs turns in a home", h.holder(), h.Path),
		Remedy:  "end it and type the command again, or use another home with --home DIR; reading (`portcullis sessions list`) and deciding (`portcullis approvals list`) work beside it",
	}
}

// holder reads what the holder noted about itself.
func (h Home) holder() string {
	const unknown = "another portcullis"
	f, err := os.Open(h.Join(lockName))
	if err != nil {
		return unknown
	}
	defer f.Close()
	note, err := io.ReadAll(io.LimitReader(f, 200))
	pid, command, ok := strings.Cut(strings.TrimSpace(string(note)), " ")
	if err != nil || !ok {
		return unknown
	}
	return fmt.Sprintf("`portcullis %s` (process %s)", command, pid)
}
