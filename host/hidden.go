package host

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// hidden is what no view of a turn may show: what the request named, every secret that is kept, and the keys of the
// configured providers. Whether something is bound does not matter: a tool may come across a value by other ways. A key
// that cannot be read is none; a secrets file that cannot be read stops the turn, for nobody knows what to hide then.
// The host's own log and error texts hide it too from then on.
func (h *Host) hidden(ctx context.Context, named redact.Set) (redact.Set, error) {
	set, err := kept(ctx, h.secrets, h.settings, named)
	if err != nil {
		return redact.Set{}, err
	}
	h.veil.Lock()
	defer h.veil.Unlock()
	h.veiled, h.knows = h.veiled.Join(set), true
	return set, nil
}

func kept(ctx context.Context, from secret.Reader, settings core.HostConfig, named redact.Set) (redact.Set, error) {
	kept, err := from.Known(ctx)
	if err != nil {
		return redact.Set{}, err
	}
	for _, p := range settings.Providers {
		if p.Key.Zero() || p.Key.Source == secret.FromVault {
			continue
		}
		value, err := from.Read(ctx, p.Key)
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

// Hidden is what this host's own words hide, its log and its errors: everything that any turn of it hid so far, and
// before the first turn what is kept. What cannot be read is not in it; names and shapes are found without.
func (h *Host) Hidden(ctx context.Context) redact.Set {
	h.veil.Lock()
	set, knows := h.veiled, h.knows
	h.veil.Unlock()
	if knows {
		return set
	}
	if set, err := h.hidden(ctx, redact.Set{}); err == nil {
		return set
	}
	h.veil.Lock() // nothing can be read: it is not tried again for each line of a log
	defer h.veil.Unlock()
	h.knows = true
	return h.veiled
}

// HiddenIn is what [Host.Hidden] of a host over this home would be, as far as it can be read, for the words of a program
// that has no host open.
func HiddenIn(ctx context.Context, home string, from secret.Reader) redact.Set {
	settings, err := core.LoadHost(ctx, home)
	if err != nil {
		settings = core.HostConfig{}
	}
	set, err := kept(ctx, from, settings, redact.Set{})
	if err != nil {
		return redact.Set{}
	}
	return set
}

// hide redacts what a person wrote for the audit record, in as many runes as it may have.
func (h *Host) hide(ctx context.Context, text string, limit int) string {
	shown := h.Hidden(ctx).Text(redact.ForEvent, text)
	if shown != text && utf8.RuneCountInString(shown) > limit {
		shown = string([]rune(shown)[:limit])
	}
	return shown
}
