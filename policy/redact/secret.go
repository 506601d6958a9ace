package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Source says how the host knows that something is a secret. It is the reason code of a redaction.
type Source string

// The sources.
const (
	Bound      Source = "bound"      // a value the host holds, given to [Set.With]
	Field      Source = "field"      // the value of a field with a sensitive name
	URL        Source = "url"        // userinfo or a sensitive query value
	Header     Source = "header"     // an authorization or cookie header
	Option     Source = "option"     // a command-line option such as --token x
	Assignment Source = "assignment" // name=value or name: value with a sensitive name
	Shape      Source = "shape"      // the form of a well-known token
)

func (s Source) known() bool {
	switch s {
	case Bound, Field, URL, Header, Option, Assignment, Shape:
		return true
	}
	return false
}

// Secret is one known value. The value is behind a function, because printing a struct reaches its unexported fields
// and asks no method first: a Secret prints as its name alone, whatever the verb and whatever it lies in.
type Secret struct {
	Name   string // 1 to 64 letters, digits, _ . and -; shown in every view but the model's
	Source Source
	value  func() string
}

// NewSecret is a value that the host holds: any bytes, 8 runes to 16 KiB. [Secret.Check] says whether it will do.
func NewSecret(name, value string) Secret { return newSecret(name, value, Bound) }

func newSecret(name, value string, source Source) Secret {
	return Secret{name, source, func() string { return value }}
}

func (s Secret) reveal() string {
	if s.value == nil {
		return ""
	}
	return s.value()
}

// Bounds of secrets.
const (
	MinRunes   = 8        // shorter values occur by chance and would mask ordinary words
	MaxValue   = 16 << 10 // bytes
	MaxSecrets = 256      // in one Set
)

// Reason is why a Secret is not taken into a Set.
type Reason string

// The reasons.
const (
	TooShort   Reason = "too_short" // fewer than MinRunes runes
	TooLong    Reason = "too_long"  // more than MaxValue bytes
	TooPlain   Reason = "too_plain" // blank, or fewer than three different bytes
	BadName    Reason = "bad_name"  // the name could not be shown
	TooManySet Reason = "set_is_full"
)

// RefusedError reports a secret that cannot be redacted, and must therefore not be bound to anything.
type RefusedError struct {
	Name   string
	Reason Reason
}

// Error names the secret and says what to do; it never shows the value.
func (e *RefusedError) Error() string {
	want := map[Reason]string{
		TooShort:   fmt.Sprintf("has fewer than %d characters: use a longer value", MinRunes),
		TooLong:    fmt.Sprintf("has more than %d bytes: keep it in a file", MaxValue),
		TooPlain:   "is blank or repeats one or two characters: use a random value",
		BadName:    "needs a name of 1 to 64 letters, digits, _ . and -",
		TooManySet: fmt.Sprintf("is one too many: at most %d can be redacted together", MaxSecrets),
	}[e.Reason]
	return fmt.Sprintf("redact: secret %s %s", cleanName(e.Name), want)
}

// Check says whether s could be taken into a Set; empty means yes. Ask it before a secret is stored or bound.
func (s Secret) Check() Reason {
	value := s.reveal()
	switch {
	case s.Name == "" || cleanName(s.Name) != s.Name:
		return BadName
	case len(value) > MaxValue:
		return TooLong
	case utf8.RuneCountInString(value) < MinRunes:
		return TooShort
	case strings.TrimSpace(value) == "" || variety(value) < 3:
		return TooPlain
	}
	return ""
}

func variety(s string) int {
	var seen [256]bool
	n := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			n++
		}
	}
	return n
}

// Fingerprint is 16 hex digits of the value's sha256, the same in every process. Only the debug view shows it.
func (s Secret) Fingerprint() string { return fingerprint(s.reveal()) }

func fingerprint(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

// Format writes the name for every verb, so that no log line can print the value by accident.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "secret %s", cleanName(s.Name)) }

// MarshalJSON writes the name only.
func (s Secret) MarshalJSON() ([]byte, error) {
	return []byte(`"secret ` + cleanName(s.Name) + `"`), nil
}

// cleanName makes a name fit to stand inside a mask: guests choose field names, and a mask must not be escaped
// from. Other bytes become "_".
func cleanName(name string) string {
	name = name[:min(len(name), 64)]
	clean := []byte(name)
	for i, c := range clean {
		if !isAlnum(c) && c != '_' && c != '.' && c != '-' {
			clean[i] = '_'
		}
	}
	return string(clean)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool { return isAlpha(c) || isDigit(c) }
