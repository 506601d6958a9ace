package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

const maskValue = "tok/en+0123=456789"

func maskSet(t testing.TB) redact.Set {
	t.Helper()
	set, err := redact.Set{}.With(redact.NewSecret("TOKEN", maskValue))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestMaskTakesOutKnownValuesAndNothingElse(t *testing.T) {
	set := maskSet(t)
	quoted, err := json.Marshal(maskValue + "\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]string{
		"plain": maskValue, "base64": base64.StdEncoding.EncodeToString([]byte("user:" + maskValue)), "hex": hex.EncodeToString([]byte(maskValue)),
		"query": url.QueryEscape(maskValue), "json": string(quoted),
	} {
		text := "\xff\x00before " + form + " after; password=hunter2hunter2 Bearer abcdefghijklmnop\xfe"
		got, hits, ok := set.Mask(redact.ForModel, []byte(text))
		if !ok || hits != 1 || bytes.Contains(got, []byte(form)) || !bytes.Contains(got, []byte(redact.Sentinel)) {
			t.Errorf("%s: %q, %d hits, %v", name, got, hits, ok)
		}
		if !bytes.HasPrefix(got, []byte("\xff\x00before ")) || !bytes.HasSuffix(got, []byte(" after; password=hunter2hunter2 Bearer abcdefghijklmnop\xfe")) {
			t.Errorf("%s: other bytes changed: %q", name, got)
		}
	}
	other := []byte("nothing of it, password=hunter2hunter2")
	if got, hits, ok := set.Mask(redact.ForModel, other); !ok || hits != 0 || &got[0] != &other[0] {
		t.Errorf("%q, %d hits, %v", got, hits, ok)
	}
	if got, hits, ok := (redact.Set{}).Mask(redact.ForModel, []byte(maskValue)); !ok || hits != 0 || string(got) != maskValue {
		t.Errorf("nothing is known, and %q, %d, %v", got, hits, ok)
	}
}

// What a result gave away by its looks is not the host's to take from whoever got it.
func TestMaskLeavesDiscoveredValues(t *testing.T) {
	views, err := redact.Build(maskSet(t), redact.DefaultBounds(), redact.JSON([]byte(`{"access_token":"Zq8vN3kLw0TgY7uPmR2x"}`)))
	if err != nil {
		t.Fatal(err)
	}
	page := []byte("next?cursor=Zq8vN3kLw0TgY7uPmR2x and " + maskValue)
	got, hits, ok := views.Set().Mask(redact.ForModel, page)
	if !ok || hits != 1 || !bytes.Contains(got, []byte("Zq8vN3kLw0TgY7uPmR2x")) || bytes.Contains(got, []byte(maskValue)) {
		t.Errorf("%q, %d, %v", got, hits, ok)
	}
}

// Ordinary large answers, text or not, can be searched; one that is built not to be is not passed on.
func TestMaskSaysWhenItCannotSearch(t *testing.T) {
	set := maskSet(t)
	noise := make([]byte, 1<<20)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(noise)
	for name, text := range map[string][]byte{
		"noise": noise, "base64": []byte(base64.StdEncoding.EncodeToString(noise)), "hex": []byte(hex.EncodeToString(noise)),
		"prose": []byte(strings.Repeat("It was a dark and stormy night; the rain fell in torrents. ", 20_000)),
	} {
		if _, hits, ok := set.Mask(redact.ForModel, text); !ok || hits != 0 {
			t.Errorf("%s: %d hits, %v", name, hits, ok)
		}
	}
	hostile := []byte(strings.Repeat("%2525%3D&amp;#x41;\\u0041=?", 1<<16))
	if got, _, ok := set.Mask(redact.ForModel, hostile); ok && len(got) != len(hostile) || !ok && got != nil {
		t.Errorf("%d bytes, %v", len(got), ok)
	}
}

// FuzzMask: what was masked once holds no value any more, and what is passed on unmasked holds none.
func FuzzMask(f *testing.F) {
	f.Add([]byte("a " + maskValue + " b"))
	f.Add([]byte(base64.URLEncoding.EncodeToString([]byte("x" + maskValue))))
	f.Add([]byte(maskValue[:9] + maskValue + maskValue[9:]))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _, ok := maskSet(t).Mask(redact.ForModel, text)
		if ok && bytes.Contains(got, []byte(maskValue)) {
			t.Fatalf("%q keeps the value: %q", text, got)
		}
	})
}
