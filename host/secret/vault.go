package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/policy/shellword"

	"filippo.io/age"
	"github.com/gofrs/flock"
)

// Names of files in the home.
const (
	FileName     = "secrets.age" // entries, encrypted
	IdentityName = "secrets.key" // what decrypts them, mode 0600
	lockName     = ".secrets.lock"
)

// Vault is secrets.age of one home. It holds nothing in memory between calls and is safe for concurrent use, also by
// several processes.
type Vault struct {
	home   string
	clock  func() time.Time
	ring   Keyring // nil: there is none
	inRing bool    // where the identity is
}

// At is the vault of a home, which need not have one yet, with its identity in the home too. It touches nothing.
func At(home string, clock func() time.Time) *Vault { return &Vault{home: home, clock: clock} }

// FileError says that secrets.age or secrets.key cannot be used, and what to do.
type FileError struct {
	Path string
	Want string
	Err  error // nil, or the cause; never holds content
}

// Error names the file and what to do. It does not begin as an assignment would: what looks for secrets hides what is assigned.
func (e *FileError) Error() string { return e.Path + " " + e.Want }

// Unwrap is the cause.
func (e *FileError) Unwrap() error { return e.Err }

// ErrUnknown says that there is no secret of a name.
var ErrUnknown = errors.New("secret: there is none of this name")

// List tells of every entry in order of their names. No vault yet is no entry.
func (v *Vault) List(ctx context.Context) ([]Entry, error) {
	all, err := v.read(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(all))
	for _, e := range all {
		out = append(out, e.Entry)
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return out, nil
}

func (v *Vault) get(ctx context.Context, name Name) (kept, bool, error) {
	all, err := v.read(ctx)
	e, ok := all[name]
	return e, ok, err
}

// read decrypts the file. It looks at no lock: a rename is whole.
func (v *Vault) read(ctx context.Context) (map[Name]kept, error) {
	return v.decrypted(ctx, v.identities)
}

func (v *Vault) decrypted(ctx context.Context, identities func(context.Context) ([]*age.X25519Identity, error)) (map[Name]kept, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("secret: read: %w", err)
	}
	path := filepath.Join(v.home, FileName)
	sealed, err := readPrivate(path, MaxFile)
	if errors.Is(err, os.ErrNotExist) {
		return map[Name]kept{}, nil
	}
	if err != nil {
		return nil, fileFault(path, err)
	}
	known, err := identities(ctx)
	if errors.Is(err, os.ErrNotExist) {
		if v.ring != nil { // only then can it be elsewhere, and only then may the keyring be asked
			if moved, elseErr := v.elsewhere(ctx); elseErr == nil && len(moved) > 0 {
				return nil, &FileError{v.Where(), "does not hold the identity yet: `portcullis secrets rotate`", err}
			}
		}
		return nil, &FileError{v.Where(), map[bool]string{true: "has no identity", false: "is missing"}[v.inRing] + ", and " + FileName + " cannot be read without it: restore it from a backup, or move " + FileName + " away and set the secrets again", err}
	}
	if err != nil {
		return nil, err
	}
	keys := make([]age.Identity, len(known))
	for i, k := range known {
		keys[i] = k
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), keys...)
	if err != nil {
		return nil, &FileError{path, "was not encrypted to the identity in " + IdentityName + ", or is cut: restore both files from one backup, or move " + FileName + " away and set the secrets again", err}
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, &FileError{path, "is damaged: restore it from a backup, or move it away and set the secrets again", err}
	}
	all, err := decode(data)
	if err != nil {
		return nil, &FileError{path, "cannot be used: " + err.Error(), nil}
	}
	return all, nil
}

func fileFault(path string, err error) error {
	switch {
	case errors.Is(err, errOpen):
		return &FileError{path, "can be read by other users; run: chmod 600 " + shellword.Quote(path), err}
	case errors.Is(err, errNotPlain), errors.Is(err, errTooLarge):
		return &FileError{path, err.Error() + ": move it away", err}
	}
	return fmt.Errorf("secret: read %s: %w", path, err)
}

// change applies f to the entries and replaces the file. f's error is returned and nothing is written then.
func (v *Vault) change(ctx context.Context, f func(all map[Name]kept) error) error {
	return v.locked(ctx, v.read, func(all map[Name]kept) error {
		if err := f(all); err != nil {
			return err
		}
		return v.write(ctx, all)
	})
}

// locked reads the entries with every other change shut out.
func (v *Vault) locked(ctx context.Context, read func(context.Context) (map[Name]kept, error), f func(all map[Name]kept) error) (err error) {
	lock := flock.New(filepath.Join(v.home, lockName), flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return fmt.Errorf("secret: wait for another change of %s: %w", FileName, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all, err := read(ctx)
	if err != nil {
		return err
	}
	return f(all)
}

// write encrypts to the newest identity of the home, and makes one when there is none.
func (v *Vault) write(ctx context.Context, all map[Name]kept) error {
	data, err := encode(all)
	if err != nil {
		return fmt.Errorf("secret: %s: %w", FileName, err)
	}
	known, err := v.identities(ctx)
	if errors.Is(err, os.ErrNotExist) {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			return fmt.Errorf("secret: make an identity: %w", err)
		}
		if err := v.writeIdentities(ctx, id); err != nil {
			return err
		}
		known = append(known, id)
	} else if err != nil {
		return err
	}
	sealed, err := seal(data, known[len(known)-1].Recipient())
	if err != nil {
		return fmt.Errorf("secret: encrypt: %w", err)
	}
	return replace(filepath.Join(v.home, FileName), sealed)
}

func seal(data []byte, to age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil { // closing writes the last chunk
		return nil, err
	}
	return out.Bytes(), nil
}

// replace writes a file of the owner's alone by rename, durable before it returns.
func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".secrets-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("secret: write %s: %w", path, err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("secret: write %s: %w", path, errors.Join(err, os.Remove(tmp.Name())))
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("secret: sync %s: %w", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("secret: sync %s: %w", dir, err)
	}
	return nil
}
