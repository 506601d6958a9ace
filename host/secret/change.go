package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// RotateIdentity makes a new identity and encrypts everything to it. For a moment secrets.key holds both, so that a
// crash at any point leaves files that fit together; the next change or rotation then goes on with the newer one.
func (v *Vault) RotateIdentity(ctx context.Context) error {
	return v.locked(ctx, func(all map[Name]kept) error {
		old, err := v.identities()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		next, err := age.GenerateX25519Identity()
		if err != nil {
			return fmt.Errorf("secret: make an identity: %w", err)
		}
		if err := v.writeIdentities(append(old, next)...); err != nil {
			return err
		}
		if err := v.write(all); err != nil {
			return err
		}
		return v.writeIdentities(next)
	})
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
