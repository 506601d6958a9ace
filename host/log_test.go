package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/policy/redact/redacttest"
)

// lines is a logger that lays values out as a careless one would: over lines, indented, quoted.
type lines struct{ bytes.Buffer }

func (l *lines) write(msg string, kv []any) {
	fmt.Fprintf(l, "%s\n", msg)
	for i := 0; i+1 < len(kv); i += 2 {
		fmt.Fprintf(l, "  | %v = %v\n", kv[i], strings.ReplaceAll(fmt.Sprint(kv[i+1]), "\n", "\n  | "))
	}
}
func (l *lines) Debug(msg string, kv ...any) { l.write(msg, kv) }
func (l *lines) Info(msg string, kv ...any)  { l.write(msg, kv) }
func (l *lines) Warn(msg string, kv ...any)  { l.write(msg, kv) }
func (l *lines) Error(msg string, kv ...any) { l.write(msg, kv) }

type stringer string

func (s stringer) String() string { return string(s) }

func TestTheHostsLogHidesValuesBeforeALoggerLaysThemOut(t *testing.T) {
	const value = `q7Vd/9+xK"2&p<L'm%3Zt=hRw`
	set, err := redact.Set{}.With(redact.NewSecret("KEPT", value), redact.NewSecret("DIGITS", "8675309112233"))
	if err != nil {
		t.Fatal(err)
	}
	var out lines
	log := hidingLog{&out, func(context.Context) redact.Set { return set }}
	for _, e := range redacttest.Thirty() {
		before := out.Len()
		text := e.Encode(value)
		cause := &url.Error{Op: "Get", URL: "https://h.example/?q=" + text, Err: errors.New(text)}
		log.Info("said "+text, "value", text, "stringer", stringer(text), "bytes", []byte(text), "error", fmt.Errorf("outer: %w", cause), text, 1)
		if part := redacttest.Leak(out.String()[before:], text, redacttest.Others(e.Encode, value)); part != "" {
			t.Errorf("%s: %q is shown in %s", e.Name, part, out.String()[before:])
		}
	}
	out.Reset()
	log.Debug("d", "n", 42, "took", time.Second, "ok", true, "id", int64(8675309112233))
	log.Warn("w", "token", "shorty", "token_count", 7, "secret", "", "odd")
	log.Error("e")
	if want := "d\n  | n = 42\n  | took = 1s\n  | ok = true\n  | id = <redacted:DIGITS>\n" +
		"w\n  | token = <redacted:token>\n  | token_count = 7\n  | secret = \ne\n"; out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

// What the host's own words hide is what its turns hid, and before the first what is kept; a damaged file stops no log.
func TestTheHostHidesInItsOwnWordsWhatItsTurnsHid(t *testing.T) {
	home, now := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	vault := secret.At(home, clock)
	if _, err := vault.Set(t.Context(), "KEPT", secret.Content{Value: "kept-value-0001"}); err != nil {
		t.Fatal(err)
	}
	reader := secret.Reader{Home: home, Lookup: os.LookupEnv, Vault: vault, Clock: clock}
	h := &Host{secrets: reader}
	if got := h.hide(t.Context(), "because kept-value-0001 leaked", 200); got != "because <redacted:KEPT:bound> leaked" {
		t.Errorf("%q", got)
	}
	named, err := redact.Set{}.With(redact.NewSecret("asked", "asked-for-value-5"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.hidden(t.Context(), named); err != nil {
		t.Fatal(err)
	}
	if got := h.Hidden(t.Context()).Names(); fmt.Sprint(got) != "[KEPT asked]" {
		t.Errorf("after a turn %v are hidden", got)
	}
	if got := h.hide(t.Context(), strings.Repeat("kept-value-0001 ", 12), 200); len(got) > 200 || strings.Contains(got, "kept-value") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := HiddenIn(t.Context(), home, reader).Names(); fmt.Sprint(got) != "[KEPT]" {
		t.Errorf("of a home %v are hidden", got)
	}
	if err := os.Truncate(filepath.Join(home, secret.FileName), 100); err != nil {
		t.Fatal(err)
	}
	broken := &Host{secrets: reader}
	for range 2 {
		if got := broken.Hidden(t.Context()); got.Len() != 0 || !broken.knows {
			t.Errorf("with a damaged file %v are hidden", got.Names())
		}
	}
	if HiddenIn(t.Context(), home, reader).Len() != 0 {
		t.Error("a damaged file gave something")
	}
}
