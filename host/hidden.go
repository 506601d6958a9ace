package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// hidden is what no view of a turn may show: what the request named, every secret that is kept, and the keys of the
// configured providers. Whether something is bound does not matter: a tool may come across a value by other ways. A key
// that cannot be read is none; a secrets file that cannot be read stops the turn, for nobody knows what to hide then.
func (h *Host) hidden(ctx context.Context, named redact.Set) (redact.Set, error) {
	kept, err := h.secrets.Known(ctx)
	if err != nil {
		return redact.Set{}, err
	}
	for _, p := range h.settings.Providers {
		if p.Key.Zero() || p.Key.Source == secret.FromVault {
			continue
		}
		value, err := h.secrets.Read(ctx, p.Key)
		if gone := (*secret.UnavailableError)(nil); errors.As(err, &gone) {
			continue
		} else if err != nil {
			return redact.Set{}, err
		}
		if key := redact.NewSecret("key-of-"+p.Name, value); key.Check() == "" {
			kept = append(kept, key)
		}
	}
	set, err := named.With(kept...)
	if err != nil {
		return redact.Set{}, fmt.Errorf("host: hide what is secret: %w", err)
	}
	return set, nil
}
