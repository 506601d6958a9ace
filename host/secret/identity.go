package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
	"github.com/zalando/go-keyring"
)

// Where the identity is that decrypts secrets.age.
const (
	IdentityFile    = "file"    // secrets.key in the home, mode 0600
	IdentityKeyring = "keyring" // the keyring of the operating system's user
)

// Keyring is the keyring of the operating system's user. [SystemKeyring] is one.
type Keyring interface {
	Get(service, user string) (string, error) // [keyring.ErrNotFound] when there is none
	Set(service, user, text string) error
	Delete(service, user string) error
}

// keyringService is what the keyring lists the identity under; the user is the home's folder.
const keyringService = "portcullis"

// KeyringTime bounds one question to the keyring: one that is locked may ask a person, who need not be there.
const KeyringTime = 30 * time.Second

// KeyringError says that the keyring did not answer.
type KeyringError struct {
	Did string // "read", "change"
	Err error
}

// Error says what to do.
func (e *KeyringError) Error() string {
	return "secret: the keyring could not be " + map[string]string{"read": "read", "change": "changed"}[e.Did] + " (" + e.Err.Error() +
		"): unlock it, or log in where it runs; to keep the identity in secrets.key instead, write `secrets: {identity: file}` in config.yaml"
}

// Unwrap is the keyring's own error.
func (e *KeyringError) Unwrap() error { return e.Err }

// errKeyringTime is the keyring that asks somebody who does not answer.
var errKeyringTime = errors.New("it did not answer in time")

// system is the library's, which finds the keyring of the platform: Secret Service, Keychain or Credential Manager.
type system struct{}

// SystemKeyring is the platform's. Nothing is asked of it before the identity is needed.
func SystemKeyring() Keyring { return system{} }

// Get is [Keyring]'s.
func (system) Get(service, user string) (string, error) { return keyring.Get(service, user) }

// Set is [Keyring]'s.
func (system) Set(service, user, text string) error { return keyring.Set(service, user, text) }

// Delete is [Keyring]'s.
func (system) Delete(service, user string) error { return keyring.Delete(service, user) }

// Open is the vault of a home whose identity is where identity says; the empty string means [IdentityFile].
func Open(home, identity string, clock func() time.Time) *Vault {
	return At(home, clock).Keep(identity == IdentityKeyring, SystemKeyring())
}

// Keep returns the vault with its identity in ring, or in the file with ring as where it may have been before.
func (v *Vault) Keep(inRing bool, ring Keyring) *Vault {
	return &Vault{v.home, v.clock, ring, inRing}
}

// Where says in words where the identity is kept.
func (v *Vault) Where() string {
	if v.inRing {
		return "the keyring of the system"
	}
	return filepath.Join(v.home, IdentityName)
}

// identities reads what decrypts the file, the newest last: there is one, or two after a rotation that was cut short.
// The error is [os.ErrNotExist] when there is none.
func (v *Vault) identities(ctx context.Context) ([]*age.X25519Identity, error) {
	if v.inRing {
		return v.ringIdentities(ctx)
	}
	return v.fileIdentities()
}

// elsewhere reads the identity from where it is not kept any more.
func (v *Vault) elsewhere(ctx context.Context) ([]*age.X25519Identity, error) {
	switch {
	case v.inRing:
		return v.fileIdentities()
	case v.ring == nil:
		return nil, os.ErrNotExist
	}
	return v.ringIdentities(ctx)
}

func (v *Vault) fileIdentities() ([]*age.X25519Identity, error) {
	path := filepath.Join(v.home, IdentityName)
	data, err := readPrivate(path, 4<<10)
	if errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fileFault(path, err)
	}
	return parseIdentities(path, data)
}

func (v *Vault) ringIdentities(ctx context.Context) ([]*age.X25519Identity, error) {
	text, err := asked(ctx, func() (string, error) { return v.ring.Get(keyringService, v.home) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, os.ErrNotExist
	}
	if err != nil {
		return nil, &KeyringError{"read", err}
	}
	return parseIdentities("the keyring entry "+keyringService+" of "+v.home, []byte(text))
}

func parseIdentities(where string, data []byte) ([]*age.X25519Identity, error) {
	fault := &FileError{where, "holds no age identity of this program (AGE-SECRET-KEY-1...): restore it from a backup", nil}
	found, err := age.ParseIdentities(bytes.NewReader(data))
	if err != nil || len(found) == 0 {
		return nil, fault // err may repeat what stands there
	}
	var out []*age.X25519Identity
	for _, f := range found {
		id, ok := f.(*age.X25519Identity)
		if !ok {
			return nil, fault
		}
		out = append(out, id)
	}
	return out, nil
}

func (v *Vault) writeIdentities(ctx context.Context, all ...*age.X25519Identity) error {
	text := "# decrypts " + FileName + "; keep it secret\n"
	for _, id := range all {
		text += "# public key: " + id.Recipient().String() + "\n" + id.String() + "\n"
	}
	if !v.inRing {
		return replace(filepath.Join(v.home, IdentityName), []byte(text))
	}
	if _, err := asked(ctx, func() (string, error) { return "", v.ring.Set(keyringService, v.home, text) }); err != nil {
		return &KeyringError{"change", err}
	}
	return nil
}

// forget removes the identity from where it is not kept any more. What is not there need not be removed.
func (v *Vault) forget(ctx context.Context) error {
	if v.inRing {
		if err := os.Remove(filepath.Join(v.home, IdentityName)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("secret: remove %s, which is in the keyring now: %w", IdentityName, err)
		}
		return nil
	}
	if _, err := asked(ctx, func() (string, error) { return "", v.ring.Delete(keyringService, v.home) }); err != nil && !errors.Is(err, keyring.ErrNotFound) {
		return &KeyringError{"change", err}
	}
	return nil
}

// asked bounds a question to the keyring. The library takes no context: a question that nobody answers is left to end with
// the keyring or the process, and its answer to nobody.
func asked(ctx context.Context, ask func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	ctx, stop := context.WithTimeoutCause(ctx, KeyringTime, errKeyringTime)
	defer stop()
	done := make(chan answer, 1)
	go func() {
		text, err := ask()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
