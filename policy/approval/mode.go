package approval

import "fmt"

// Mode is what happens before a call. Modes are ordered from lax to strict; the zero Mode is none and counts as
// [Deny] wherever it is used.
type Mode uint8

// The modes.
const (
	Auto   Mode = iota + 1 // runs by itself
	Prompt                 // runs after a person allowed it
	Deny                   // never runs
)

// Risk is how bad a wrong call is, in the order low, medium, high, critical. The zero Risk is none and counts as
// [Critical] wherever it is compared.
type Risk uint8

// The risks.
const (
	Low Risk = iota + 1
	Medium
	High
	Critical
)

func modes() []string { return []string{"", "auto", "prompt", "deny"} }
func risks() []string { return []string{"", "low", "medium", "high", "critical"} }

// WordError reports a word that is none of the known ones.
type WordError struct {
	Kind string // "mode" or "risk"
	Word string // of one over 40 bytes its length: a part of a secret could not be hidden any more
	Want string
}

// Error names the word and the known ones.
func (e *WordError) Error() string {
	return fmt.Sprintf("approval: unknown %s %q: write %s", e.Kind, e.Word, e.Want)
}

// ParseMode reads "auto", "prompt" or "deny", exactly. An error is a [*WordError].
func ParseMode(text string) (Mode, error) {
	i, err := word(modes(), "mode", text, "auto, prompt or deny")
	return Mode(i), err
}

// ParseRisk reads "low", "medium", "high" or "critical", exactly. An error is a [*WordError].
func ParseRisk(text string) (Risk, error) {
	i, err := word(risks(), "risk", text, "low, medium, high or critical")
	return Risk(i), err
}

func word(known []string, kind, text, want string) (int, error) {
	for i, k := range known {
		if i > 0 && k == text {
			return i, nil
		}
	}
	if len(text) > 40 {
		text = fmt.Sprintf("a text of %d bytes", len(text))
	}
	return 0, &WordError{kind, text, want}
}

// Valid reports whether m is one of the three.
func (m Mode) Valid() bool { return m >= Auto && m <= Deny }

// Valid reports whether r is one of the four.
func (r Risk) Valid() bool { return r >= Low && r <= Critical }

// Stricter returns the stricter of both. A Mode that is none makes it Deny.
func (m Mode) Stricter(o Mode) Mode {
	if !m.Valid() || !o.Valid() {
		return Deny
	}
	return max(m, o)
}

// AtLeast reports whether r is o or worse. A Risk that is none is worse than every other.
func (r Risk) AtLeast(o Risk) bool { return !r.Valid() || r >= o }

// String is the word, or "none".
func (m Mode) String() string { return spell(modes(), int(m)) }

// String is the word, or "none".
func (r Risk) String() string { return spell(risks(), int(r)) }

func spell(known []string, i int) string {
	if i <= 0 || i >= len(known) {
		return "none"
	}
	return known[i]
}

// MarshalText writes the word; a Mode that is none is an error.
func (m Mode) MarshalText() ([]byte, error) {
	_, err := ParseMode(m.String())
	return []byte(m.String()), err
}

// MarshalText writes the word; a Risk that is none is an error.
func (r Risk) MarshalText() ([]byte, error) {
	_, err := ParseRisk(r.String())
	return []byte(r.String()), err
}

// UnmarshalText is [ParseMode].
func (m *Mode) UnmarshalText(text []byte) error {
	parsed, err := ParseMode(string(text))
	if err == nil {
		*m = parsed
	}
	return err
}

// UnmarshalText is [ParseRisk].
func (r *Risk) UnmarshalText(text []byte) error {
	parsed, err := ParseRisk(string(text))
	if err == nil {
		*r = parsed
	}
	return err
}
