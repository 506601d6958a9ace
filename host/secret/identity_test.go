package secret

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zalando/go-keyring"
)

// chain is a keyring in memory that a test can break. The library's own mock is asked in one test, because it is one for
// the whole process.
type chain struct {
	entries map[string]string
	err     error
	stuck   chan struct{} // not nil: answers when it is closed
}

func newChain() *chain { return &chain{entries: map[string]string{}} }

func (c *chain) wait() {
	if c.stuck != nil {
		<-c.stuck
	}
}

func (c *chain) Get(service, user string) (string, error) {
	c.wait()
	text, ok := c.entries[service+" "+user]
	if !ok && c.err == nil {
		return "", keyring.ErrNotFound
	}
	return text, c.err
}

func (c *chain) Set(service, user, text string) error {
	if c.err == nil {
		c.entries[service+" "+user] = text
	}
	return c.err
}

func (c *chain) Delete(service, user string) error {
	delete(c.entries, service+" "+user)
	return c.err
}

func opens(t *testing.T, v *Vault, home string) {
	t.Helper()
	if got, err := reader(v, home).Read(t.Context(), Ref{FromVault, "A_KEY"}); err != nil || got != value {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestTheIdentityCanBeInTheKeyring(t *testing.T) {
	keyring.MockInit()
	home := t.TempDir()
	v := Open(home, IdentityKeyring, start)
	_, err := v.Set(t.Context(), "A_KEY", Content{Value: value})
	must(t, err)
	opens(t, v, home)
	if _, err := os.Lstat(filepath.Join(home, IdentityName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file too: %v", err)
	}
	text, err := keyring.Get("portcullis", home)
	if err != nil || !strings.Contains(text, "AGE-SECRET-KEY-1") {
		t.Errorf("the keyring has %d bytes, %v", len(text), err)
	}
	must(t, v.RotateIdentity(t.Context()))
	opens(t, v, home)
	if again, err := keyring.Get("portcullis", home); err != nil || again == text || strings.Count(again, "AGE-SECRET-KEY-1") != 1 {
		t.Errorf("after a rotation the keyring has the same identity, or two (%v)", err)
	}
	if v.Where() != "the keyring of the system" {
		t.Errorf("it is in %s", v.Where())
	}
	// another home has an identity of its own
	if got, err := Open(t.TempDir(), IdentityKeyring, start).List(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

// The configuration names another place: nothing is read before the identity was moved there, and then it is in one place.
func TestTheIdentityMoves(t *testing.T) {
	home, ring := t.TempDir(), newChain()
	inFile, inRing := At(home, start).Keep(false, ring), At(home, start).Keep(true, ring)
	_, err := inFile.Set(t.Context(), "A_KEY", Content{Value: value})
	must(t, err)
	for _, step := range []struct {
		from, to *Vault
		where    string
	}{{inFile, inRing, "the keyring of the system"}, {inRing, inFile, filepath.Join(home, IdentityName)}} {
		var fault *FileError
		if _, err := step.to.List(t.Context()); !errors.As(err, &fault) || !strings.Contains(fault.Error(), step.where+" does not hold the identity yet: `portcullis secrets rotate`") {
			t.Errorf("before it was moved: %v", err)
		}
		if _, err := step.to.Set(t.Context(), "B_KEY", Content{Value: value}); !errors.As(err, &fault) {
			t.Errorf("a change before it was moved: %v", err)
		}
		must(t, step.to.RotateIdentity(t.Context()))
		opens(t, step.to, home)
		if _, err := step.from.List(t.Context()); err == nil {
			t.Error("it is still where it was")
		}
	}
	if len(ring.entries) != 0 {
		t.Error("the keyring still has it")
	}
}

// A move that is cut short at any step is finished by the next one, and nothing is lost.
func TestAMoveCutShortLosesNothing(t *testing.T) {
	for fail := range 2 {
		home, ring := t.TempDir(), newChain()
		inFile, inRing := At(home, start).Keep(false, ring), At(home, start).Keep(true, ring)
		_, err := inFile.Set(t.Context(), "A_KEY", Content{Value: value})
		must(t, err)
		if fail == 0 { // the keyring takes nothing
			ring.err = errors.New("locked")
			if err := inRing.RotateIdentity(t.Context()); err == nil {
				t.Fatal("a keyring that fails was not noticed")
			}
			ring.err = nil
			opens(t, inFile, home)
		} else { // both identities are in the keyring, the file is encrypted to the old one
			old, err := inFile.fileIdentities()
			must(t, err)
			must(t, inRing.writeIdentities(t.Context(), old...))
		}
		must(t, inRing.RotateIdentity(t.Context()))
		opens(t, inRing, home)
		if _, err := os.Lstat(filepath.Join(home, IdentityName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is still there: %v", err)
		}
	}
}

func TestAKeyringThatDoesNotAnswer(t *testing.T) {
	home, ring := t.TempDir(), newChain()
	v := At(home, start).Keep(true, ring)
	_, err := v.Set(t.Context(), "A_KEY", Content{Value: value})
	must(t, err)
	ring.err = errors.New("no such session")
	var silent *KeyringError
	for name, do := range map[string]func(context.Context) error{
		"read":   func(ctx context.Context) error { _, err := v.List(ctx); return err },
		"set":    func(ctx context.Context) error { _, err := v.Set(ctx, "B_KEY", Content{Value: value}); return err },
		"rotate": v.RotateIdentity,
	} {
		if err := do(t.Context()); !errors.As(err, &silent) || !strings.Contains(err.Error(), "write `secrets: {identity: file}` in config.yaml") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ring.err = nil
	opens(t, v, home)
}

// A keyring that asks a person who is not there does not hold the host up for ever.
func TestAKeyringThatWaitsIsNotWaitedForLong(t *testing.T) {
	home, ring := t.TempDir(), newChain()
	v := At(home, start).Keep(true, ring)
	_, err := v.Set(t.Context(), "A_KEY", Content{Value: value})
	must(t, err)
	synctest.Test(t, func(t *testing.T) {
		ring.stuck = make(chan struct{})
		_, err := v.List(t.Context())
		var silent *KeyringError
		if !errors.As(err, &silent) || !errors.Is(err, errKeyringTime) {
			t.Errorf("%v", err)
		}
		close(ring.stuck)
	})
}
