package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
)

// Content is what a secret is set to: a value, or the place where it is.
type Content struct {
	Value   string
	From    Ref       // [FromEnv] or [FromFile]; zero when Value is set
	Expires time.Time // zero: never
}

// Set makes or replaces an entry. made is false when one was replaced. A value that could not be redacted afterwards is
// a [*redact.RefusedError]; an expiry that has passed is refused.
func (v *Vault) Set(ctx context.Context, name Name, c Content) (made bool, err error) {
	err = v.change(ctx, func(all map[Name]kept) error {
		had, there := all[name]
		made = !there
		if made && len(all) >= MaxEntries {
			return fmt.Errorf("secret: there are %d secrets already; remove one first", MaxEntries)
		}
		e, err := v.entry(name, c)
		if err != nil {
			return err
		}
		if there {
			e.Set, e.Rotated = had.Set, e.Set
		}
		all[name] = e
		return nil
	})
	return made && err == nil, err
}

// Rotate gives an entry a new value or place. The expiry becomes c's. [ErrUnknown] when there is none of the name.
func (v *Vault) Rotate(ctx context.Context, name Name, c Content) error {
	return v.change(ctx, func(all map[Name]kept) error {
		had, there := all[name]
		if !there {
			return ErrUnknown
		}
		e, err := v.entry(name, c)
		if err != nil {
			return err
		}
		e.Set, e.Rotated = had.Set, e.Set
		all[name] = e
		return nil
	})
}

// Remove takes an entry out; false when there was none.
func (v *Vault) Remove(ctx context.Context, name Name) (bool, error) {
	removed := false
	err := v.change(ctx, func(all map[Name]kept) error {
		_, removed = all[name]
		delete(all, name)
		return nil
	})
	return removed && err == nil, err
}

// RotateIdentity makes a new identity and encrypts everything to it. For a moment both are kept, so that a crash at any
// point leaves what fits together; the next change or rotation then goes on with the newer one. An identity that is still
// where it was kept before the configuration named another place is taken from there, and removed there at the end.
func (v *Vault) RotateIdentity(ctx context.Context) error {
	var old []*age.X25519Identity
	moved := false
	read := func(ctx context.Context) (_ map[Name]kept, err error) {
		if old, moved, err = v.anywhere(ctx); err != nil {
			return nil, err
		}
		return v.decrypted(ctx, func(context.Context) ([]*age.X25519Identity, error) {
			if len(old) == 0 {
				return nil, os.ErrNotExist
			}
			return old, nil
		})
	}
	return v.locked(ctx, read, func(all map[Name]kept) error {
		next, err := age.GenerateX25519Identity()
		if err != nil {
			return fmt.Errorf("secret: make an identity: %w", err)
		}
		if err := v.writeIdentities(ctx, append(old, next)...); err != nil {
			return err
		}
		if err := v.write(ctx, all); err != nil {
			return err
		}
		if err := v.writeIdentities(ctx, next); err != nil || !moved && !v.inRing { // a move may have been cut short: a file is no question
			return err
		}
		return v.forget(ctx)
	})
}

// anywhere is the identity from where it is kept, else from where it was kept before; moved says that it was there.
func (v *Vault) anywhere(ctx context.Context) (known []*age.X25519Identity, moved bool, err error) {
	known, err = v.identities(ctx)
	if !errors.Is(err, os.ErrNotExist) {
		return known, false, err
	}
	if _, err := os.Lstat(filepath.Join(v.home, FileName)); errors.Is(err, os.ErrNotExist) {
		return nil, false, nil // nothing is encrypted yet
	}
	known, err = v.elsewhere(ctx)
	if silent := (*KeyringError)(nil); errors.Is(err, os.ErrNotExist) || !v.inRing && errors.As(err, &silent) {
		return nil, false, nil // that it is missing is said by whoever needs it
	}
	return known, err == nil, err
}

func (v *Vault) entry(name Name, c Content) (kept, error) {
	now := v.clock().UTC().Truncate(time.Millisecond)
	if !c.Expires.IsZero() && !now.Before(c.Expires) {
		return kept{}, fmt.Errorf("secret: %s would have expired already", name)
	}
	if c.From.Zero() {
		if err := usable(name, c.Value); err != nil {
			return kept{}, err
		}
	}
	return kept{Entry{name, c.From, now, time.Time{}, c.Expires}, func() string { return c.Value }}, nil
}
