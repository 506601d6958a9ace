package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/b3abf3ee/portcullis/host/secret"
)

// What is hidden while no host is open is read with the identity that the home is configured to have.
func TestWhatIsHiddenIsReadWithTheConfiguredIdentity(t *testing.T) {
	for identity, where := range map[string]string{secret.IdentityFile: "", secret.IdentityKeyring: "the keyring of the system"} {
		home := Home{Path: t.TempDir()}
		if where == "" {
			where = home.Join(secret.IdentityName)
		}
		if err := os.WriteFile(filepath.Join(home.Path, "config.yaml"), []byte("schema_version: 1\nsecrets: {identity: "+identity+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := home.vault(t.Context()).Where(); got != where {
			t.Errorf("%s: read from %s, want %s", identity, got, where)
		}
	}
}
