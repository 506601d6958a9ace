package redact

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// Set is the secrets of one turn. It is immutable: [Set.With] returns another. The zero Set knows no values;
// sensitive names and shapes are found without one. What it holds is behind a function for the reason that a
// [Secret]'s value is.
type Set struct{ hidden func() *compiled }

// nothing is what the zero Set knows. It is never written.
var nothing = compiled{values: newMatcher()}

// of is never nil.
func (s Set) of() *compiled {
	if s.hidden == nil {
		return &nothing
	}
	return s.hidden()
}

// compiled is what a Set points at; it is never written after With.
type compiled struct {
	secrets []Secret
	marks   []mark   // of each secret
	values  *matcher // ids index secrets
	spaces  bool     // some value holds a space, so that "+" may stand for one
	longest int      // bytes of the longest value
}

// With returns a Set that knows secrets as well. A value that is known already keeps its first name. An error is a
// [*RefusedError] for the first secret that cannot be taken; the Set that comes with it is s, unchanged.
func (s Set) With(secrets ...Secret) (Set, error) {
	have := s.of().secrets
	own := have[:len(have):len(have)]
	for _, one := range secrets {
		reason := one.Check()
		known := slices.ContainsFunc(own, func(o Secret) bool { return o.reveal() == one.reveal() })
		if reason == "" && !known && len(own) >= MaxSecrets {
			reason = TooManySet
		}
		if reason != "" {
			return s, &RefusedError{one.Name, reason}
		}
		if !known {
			own = append(own, one)
		}
	}
	if len(own) == len(have) {
		return s, nil
	}
	c := compile(own, nil)
	return Set{func() *compiled { return c }}, nil
}

// Join returns s with the values of other as well. It is s itself when they are known already, and other when both
// together are more than [MaxSecrets].
func (s Set) Join(other Set) Set {
	joined, err := s.With(other.of().secrets...)
	if err != nil { // each was taken before: there is no room
		return other
	}
	return joined
}

// Len is how many values the Set knows.
func (s Set) Len() int { return len(s.of().secrets) }

// Names are the names of the known values, in the order they were added.
func (s Set) Names() []string {
	var names []string
	for _, one := range s.of().secrets {
		names = append(names, one.Name)
	}
	return names
}

// String says how many values the Set knows, and nothing of them.
func (s Set) String() string { return fmt.Sprintf("redact.Set of %d", s.Len()) }

// GoString is [Set.String].
func (s Set) GoString() string { return s.String() }

// compile prepares the search for secrets; ids are the marks that they are found under, their own indexes if nil.
func compile(secrets []Secret, ids []int) *compiled {
	c := &compiled{secrets: secrets, values: newMatcher()}
	for id, one := range secrets {
		if ids != nil {
			id = ids[id]
		} else {
			c.marks = append(c.marks, mark{one.Name, one.Source, one.Fingerprint()})
		}
		value := one.reveal()
		for _, form := range forms(value) {
			c.values.add(form, id)
		}
		c.spaces = c.spaces || strings.Contains(value, " ")
		c.longest = max(c.longest, len(value))
	}
	c.values.finish()
	return c
}

// forms are the byte strings that give a value away and that no decoder of this package would turn back into it:
// the value, its lines, its two UTF-16 forms, and itself, its base64 and its base64 of base64 written backwards.
// The value as the decoders would leave it is a form too, for a value that itself looks escaped. All other
// encodings are found by decoding the text: see finder.
func forms(value string) []string {
	out := []string{value, strings.TrimSpace(value)}
	decoded := []byte(value)
	for range depth {
		next := unescape(decoded, common)
		if next.text == nil {
			break
		}
		decoded = next.text
		out = append(out, string(decoded))
	}
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			if len(line) >= 16 && !strings.ContainsAny(line, " \t") && !strings.HasPrefix(line, "-----") {
				out = append(out, line)
			}
		}
	}
	units := utf16.Encode([]rune(value))
	le, be := make([]byte, 0, 2*len(units)), make([]byte, 0, 2*len(units))
	for _, u := range units {
		le, be = append(le, byte(u), byte(u>>8)), append(be, byte(u>>8), byte(u))
	}
	out = append(out, string(le), string(be), backwards(value))
	for _, once := range base64Cores(value) {
		out = append(out, backwards(once))
		for _, twice := range base64Cores(once) {
			out = append(out, backwards(twice))
		}
	}
	return out
}

// base64Cores are the characters of a base64 text that value alone decides, for each of the three places that it
// can begin at in a group of three bytes, in both alphabets.
func base64Cores(value string) []string {
	var out []string
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:shift] + value))
		core := text[(shift*8+5)/6 : (shift+len(value))*8/6]
		out = append(out, core)
		if url := strings.NewReplacer("+", "-", "/", "_").Replace(core); url != core {
			out = append(out, url)
		}
	}
	return out
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}
