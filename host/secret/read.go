package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/shellword"
)

// Why is the stable code of why a secret is not given out.
type Why string

// The codes.
const (
	Missing    Why = "missing"    // there is no such entry, variable or file
	Expired    Why = "expired"    // its time is over
	Unreadable Why = "unreadable" // what is there cannot be used as it stands
)

// UnavailableError says why a secret is not given out. It never holds a value.
type UnavailableError struct {
	Ref  Ref
	Why  Why
	Want string // what is wrong and what to do
}

// Error names the reference and what to do.
func (e *UnavailableError) Error() string { return e.Ref.String() + " " + e.Want }

// Reader gives secrets out. It reads anew each time, so that a changed secret is picked up, and is safe for
// concurrent use.
type Reader struct {
	Home   string // where relative paths begin
	Lookup func(name string) (string, bool)
	Vault  *Vault // nil: [FromVault] is not there
	Clock  func() time.Time
}

// Read returns what r refers to, without line ends after it. A file must be plain, at most [redact.MaxValue] bytes and
// readable by its owner alone. What is not there, not usable or expired is an [*UnavailableError].
func (d Reader) Read(ctx context.Context, r Ref) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("secret: read %s: %w", r, err)
	}
	if r.Source == FromVault {
		value, _, err := d.fromVault(ctx, r)
		return value, err
	}
	return d.direct(r)
}

// Entry is the value of one entry of the vault as it is now, and when it expires (zero: never). Its errors are those of
// [Reader.Read].
func (d Reader) Entry(ctx context.Context, name Name) (value string, expires time.Time, err error) {
	return d.fromVault(ctx, Ref{FromVault, string(name)})
}

// direct reads a reference that is no entry of the vault.
func (d Reader) direct(r Ref) (string, error) {
	var text string
	switch r.Source {
	case FromEnv:
		if text, _ = d.Lookup(r.Name); text == "" {
			return "", &UnavailableError{r, Missing, "is not set; set it in the environment that portcullis starts in"}
		}
	case FromFile:
		path := r.Name
		if !filepath.IsAbs(path) {
			path = filepath.Join(d.Home, path)
		}
		data, err := readPrivate(path, redact.MaxValue)
		if err != nil {
			return "", unreadable(r, path, err)
		}
		text = string(data)
	default:
		return "", &UnavailableError{r, Unreadable, "is no reference; write env:NAME, file:PATH or secret:NAME"}
	}
	text = strings.TrimRight(text, "\r\n")
	if text == "" || strings.ContainsFunc(text, control) {
		return "", &UnavailableError{r, Unreadable, "is empty or has line breaks or control characters in it"}
	}
	return text, nil
}

func (d Reader) fromVault(ctx context.Context, r Ref) (string, time.Time, error) {
	if d.Vault == nil {
		return "", time.Time{}, &UnavailableError{r, Missing, "cannot be read: this host has no secrets file"}
	}
	e, ok, err := d.Vault.get(ctx, Name(r.Name))
	switch {
	case err != nil:
		return "", time.Time{}, err
	case !ok:
		return "", time.Time{}, &UnavailableError{r, Missing, "is not there: `portcullis secrets set " + r.Name + "`"}
	case e.expired(d.Clock()):
		return "", time.Time{}, &UnavailableError{r, Expired, "expired on " + e.Expires.UTC().Format(time.DateOnly) + ": `portcullis secrets rotate " + r.Name + "`"}
	case e.From.Zero():
		return e.value(), e.Expires, nil
	}
	value, err := d.direct(e.From)
	return value, e.Expires, err
}

// Known are the values of all entries of the vault, in order of their names, for hiding wherever they turn up: expired
// ones too. An entry whose place cannot be read now, or whose value could not be hidden, is left out.
func (d Reader) Known(ctx context.Context) ([]redact.Secret, error) {
	if d.Vault == nil {
		return nil, nil
	}
	all, err := d.Vault.read(ctx)
	if err != nil {
		return nil, err
	}
	var out []redact.Secret
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name].value()
		if from := all[name].From; !from.Zero() {
			gone := (*UnavailableError)(nil)
			if value, err = d.direct(from); errors.As(err, &gone) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		if one := redact.NewSecret(string(name), value); one.Check() == "" {
			out = append(out, one)
		}
	}
	return out, nil
}

var (
	errNotPlain = errors.New("is not a plain file (links are not followed)")
	errTooLarge = errors.New("is too large")
	errOpen     = errors.New("can be read by other users")
)

// unreadable keeps what a person can mend apart from what this host could not do.
func unreadable(r Ref, path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &UnavailableError{r, Missing, "does not exist"}
	case errors.Is(err, errOpen):
		return &UnavailableError{r, Unreadable, "can be read by other users; run: chmod 600 " + shellword.Quote(path)}
	case errors.Is(err, errNotPlain), errors.Is(err, errTooLarge):
		return &UnavailableError{r, Unreadable, err.Error()}
	}
	return fmt.Errorf("secret: read %s: %w", r, err)
}

// readPrivate reads a plain file of its owner's alone, at most limit bytes. A link, or a file that is swapped for
// another between the look and the opening, is refused.
func readPrivate(path string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.Base(path)
	looked, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !looked.Mode().IsRegular() {
		return nil, errNotPlain
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(looked, info):
		return nil, errNotPlain
	case info.Mode().Perm()&0o077 != 0:
		return nil, errOpen
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	return data, err
}
