package principal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a conversation.
const (
	MaxKeyBytes = 512 // of a key
	maxName     = 32  // of a channel's or a scope's name
	maxIDs      = 4
)

// threadMark stands before the id of a thread, and nowhere else in a key.
const threadMark = "thread"

// Place is where in a channel somebody and an agent talk. The key of a conversation is the canonical spelling of its
// place:
//
//	channel:scope:id[:id...][:thread:id]
//
// Channel and scope are names (`[a-z][a-z0-9_]*`). Ids are the platform's own: one to four texts, none empty, white
// space kept. Everything in them but letters, digits and "-._~" is percent-encoded, as is an id that is the word
// "thread". Source: Host Runtime Contracts, PrincipalScope and InboundEnvelope.
type Place struct {
	Channel string   // "telegram"
	Scope   string   // "dm", "group", "channel", ...
	IDs     []string // of the place, from the outer to the inner: a team, then a room
	Thread  string   // within the place, or empty
}

// KeyError reports what is no conversation or principal, or not its canonical spelling.
type KeyError struct{ Why string }

// Error says what is wrong. It repeats none of the text, which may come from outside.
func (e *KeyError) Error() string { return "principal: conversation key: " + e.Why }

func badKey(format string, args ...any) error { return &KeyError{fmt.Sprintf(format, args...)} }

// Key is the canonical spelling of p. A part that cannot stand in a key is a [*KeyError].
func (p Place) Key() (string, error) {
	if !name(p.Channel) || !name(p.Scope) {
		return "", badKey("channel and scope must be names of small letters, digits and _, at most %d", maxName)
	}
	if len(p.IDs) < 1 || len(p.IDs) > maxIDs {
		return "", badKey("it must have 1 to %d ids", maxIDs)
	}
	parts := []string{p.Channel, p.Scope}
	for _, id := range p.IDs {
		part, err := encode(id)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	if p.Thread != "" {
		part, err := encode(p.Thread)
		if err != nil {
			return "", err
		}
		parts = append(parts, threadMark, part)
	}
	key := strings.Join(parts, ":")
	if len(key) > MaxKeyBytes {
		return "", badKey("it must have at most %d bytes", MaxKeyBytes)
	}
	return key, nil
}

// ParseKey reads a canonical key. Any other spelling of the same conversation is a [*KeyError], so that two keys are
// one conversation exactly when their texts are equal.
func ParseKey(key string) (Place, error) {
	if len(key) > MaxKeyBytes {
		return Place{}, badKey("it must have at most %d bytes", MaxKeyBytes)
	}
	parts := strings.Split(key, ":")
	if len(parts) < 3 {
		return Place{}, badKey("it must be channel:scope:id")
	}
	p := Place{Channel: parts[0], Scope: parts[1]}
	for i, part := range parts[2:] {
		if part == threadMark {
			if i != len(parts)-4 {
				return Place{}, badKey("a thread must be its last part, with one id")
			}
			continue
		}
		id, err := decode(part)
		if err != nil {
			return Place{}, err
		}
		if i > 0 && parts[1+i] == threadMark {
			p.Thread = id
		} else {
			p.IDs = append(p.IDs, id)
		}
	}
	if again, err := p.Key(); err != nil {
		return Place{}, err
	} else if again != key {
		return Place{}, badKey("it is not in its canonical spelling")
	}
	return p, nil
}

func name(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

const hexDigits = "0123456789ABCDEF"

// encode spells one id. It is one word: no colon is left in it.
func encode(id string) (string, error) {
	if id == "" || !utf8.ValidString(id) {
		return "", badKey("an id must be a text of UTF-8, and not empty")
	}
	if id == threadMark {
		return "%74hread", nil
	}
	var b strings.Builder
	for _, c := range []byte(id) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
	}
	return b.String(), nil
}

// decode reads one id. It takes more spellings than [encode] makes; the caller compares.
func decode(part string) (string, error) {
	out := make([]byte, 0, len(part))
	for i := 0; i < len(part); i++ {
		if part[i] != '%' {
			out = append(out, part[i])
			continue
		}
		if i+2 >= len(part) {
			return "", badKey("a percent sign must stand before two hexadecimal digits")
		}
		high, low := strings.IndexByte(hexDigits, part[i+1]), strings.IndexByte(hexDigits, part[i+2])
		if high < 0 || low < 0 {
			return "", badKey("a percent sign must stand before two hexadecimal digits")
		}
		out = append(out, byte(high<<4|low))
		i += 2
	}
	return string(out), nil
}
