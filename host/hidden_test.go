package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

func TestWhatIsSecretIsHiddenWhetherBoundOrNot(t *testing.T) {
	home := t.TempDir()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	vault := secret.At(home, clock)
	for name, c := range map[secret.Name]secret.Content{
		"KEPT_KEY":    {Value: "kept-value-0001"},
		"EXPIRED_KEY": {Value: "expired-value-2", Expires: now.Add(time.Minute)},
		"ENV_KEY":     {From: secret.Ref{Source: secret.FromEnv, Name: "THERE"}},
		"GONE_KEY":    {From: secret.Ref{Source: secret.FromEnv, Name: "GONE"}},
	} {
		if _, err := vault.Set(t.Context(), name, c); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	env := map[string]string{"THERE": "value-of-there-3", "PROVIDER": "provider-value-4"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	h := &Host{secrets: secret.Reader{Home: home, Lookup: lookup, Vault: vault, Clock: clock}}
	h.settings.Providers = []core.Provider{
		{Name: "a", Key: secret.Ref{Source: secret.FromEnv, Name: "PROVIDER"}},
		{Name: "b", Key: secret.Ref{Source: secret.FromEnv, Name: "NONE"}},
		{Name: "c", Key: secret.Ref{Source: secret.FromVault, Name: "KEPT_KEY"}},
	}
	named, err := redact.Set{}.With(redact.NewSecret("asked", "asked-for-value-5"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := h.hidden(t.Context(), named)
	if want := []string{"asked", "ENV_KEY", "EXPIRED_KEY", "KEPT_KEY", "key-of-a"}; err != nil || !slices.Equal(set.Names(), want) {
		t.Errorf("hidden are %v (%v), want %v", set.Names(), err, want)
	}
	if err := os.Truncate(filepath.Join(home, secret.FileName), 100); err != nil {
		t.Fatal(err)
	}
	var fault *secret.FileError
	if set, err := h.hidden(t.Context(), named); !errors.As(err, &fault) || set.Len() != 0 {
		t.Errorf("with a damaged file %v are hidden, %v", set.Names(), err)
	}
}
