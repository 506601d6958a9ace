package secret

import (
	"strings"
	"unicode/utf8"
)

// Sources of a [Ref].
const (
	FromEnv   = "env"    // an environment variable of the host
	FromFile  = "file"   // a file, readable by its owner alone
	FromVault = "secret" // an entry of secrets.age
)

// maxPath bounds a path in a reference, in bytes.
const maxPath = 1024

// Ref says where a secret is, never what it is. The zero Ref is none.
type Ref struct {
	Source string // [FromEnv], [FromFile] or [FromVault]
	Name   string // of the variable or entry, or the path (a relative one is below the home)
}

// ParseRef reads "env:NAME", "file:PATH" or "secret:NAME"; false for anything else, which may be a secret itself and
// should not be repeated.
func ParseRef(text string) (Ref, bool) {
	source, name, _ := strings.Cut(text, ":")
	r := Ref{source, name}
	switch source {
	case FromEnv:
		return r, envName(name)
	case FromFile:
		return r, name != "" && len(name) <= maxPath && utf8.ValidString(name) && !strings.ContainsFunc(name, control)
	case FromVault:
		_, err := ParseName(name)
		return r, err == nil
	}
	return Ref{}, false
}

// Zero reports whether there is no reference.
func (r Ref) Zero() bool { return r == Ref{} }

// String is the reference as it is written.
func (r Ref) String() string {
	if r.Zero() {
		return ""
	}
	return r.Source + ":" + r.Name
}

func envName(s string) bool {
	return s != "" && len(s) <= 128 && (s[0] < '0' || s[0] > '9') && !strings.ContainsFunc(s, func(c rune) bool { return !nameRune(c) })
}

func control(c rune) bool { return c < 0x20 || c >= 0x7f && c < 0xa0 || c == utf8.RuneError }
