package quickstart

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/approval"
)

// TestTheSearchFindsTheSecretWhereverItSlipped breaks the promise in every way the search knows and wants each found.
func TestTheSearchFindsTheSecretWhereverItSlipped(t *testing.T) {
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Remove(); err != nil {
			t.Error(err)
		}
	}()
	if len(h.secret) < 32 {
		t.Fatalf("the secret has only %d characters", len(h.secret))
	}
	write := func(name, text string) {
		path := h.Join(filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("workspace/"+secretFile, h.secret) // where it belongs
	write("clean", "nothing here")
	got, err := h.search(Outcome{}, nil, nil)
	if err != nil || len(got.Found) != 0 || got.Places < 3 {
		t.Fatalf("nothing slipped: %+v, %v", got, err)
	}

	backwards := []byte(h.secret)
	slices.Reverse(backwards)
	forms := map[string]string{
		"plain": h.secret, "hex": hex.EncodeToString([]byte(h.secret)), "backwards": string(backwards),
		"base64-0": base64.StdEncoding.EncodeToString([]byte("abc" + h.secret + "xyz")),
		"base64-1": base64.StdEncoding.EncodeToString([]byte("a" + h.secret + "xyz")),
		"base64-2": base64.URLEncoding.EncodeToString([]byte("ab" + h.secret + "xyz")),
	}
	for name, text := range forms {
		write("state/"+name, "x"+text+"x")
	}
	got, err = h.search(Outcome{}, []approval.Question{{ID: "apr_1", Arguments: h.secret}}, []byte("log: "+h.secret))
	if err != nil {
		t.Fatal(err)
	}
	for name := range forms {
		if !slices.Contains(got.Found, "file "+filepath.Join("state", name)) {
			t.Errorf("%s was not found", name)
		}
	}
	for _, place := range []string{"log", "question apr_1"} {
		if !slices.Contains(got.Found, place) {
			t.Errorf("the %s was not searched", place)
		}
	}
	if (Outcome{Search: got}).Good() {
		t.Error("a quickstart that found the secret counts as good")
	}
	if other, err := New(); err != nil || strings.Contains(other.secret, h.secret) {
		t.Errorf("the secret is the same in each run: %v", err)
	} else if err := other.Remove(); err != nil {
		t.Error(err)
	}
}
