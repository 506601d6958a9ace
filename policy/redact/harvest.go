package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// harvestLimit is how many discovered values are removed elsewhere too. More are still masked where they stand.
const harvestLimit = 64

// harvestAll keeps a discovered value and what is in it: the credential behind a scheme ("Bearer x", and the password of
// "Basic x"), and the values of cookies and of other lists of name=value. Other words around them are no secrets.
func (b *builder) harvestAll(value []byte, id int) {
	b.harvest(value, id)
	if pair, ok := passwordOf(value); ok {
		b.harvest(pair, id)
	}
	if !bytes.ContainsFunc(value, partsValues) {
		return
	}
	n, scheme := 0, false
	for part := range bytes.FieldsFuncSeq(value, partsValues) {
		if _, named, has := bytes.Cut(part, []byte("=")); has && len(bytes.Trim(named, "=")) > 0 {
			b.harvest(bytes.Trim(named, `"`), id)
		} else if n == 0 || scheme {
			b.harvest(part, id)
			if password, ok := passwordOf(part); ok {
				b.harvest(password, id)
			}
		}
		scheme = n == 0 && isScheme(part)
		n++
	}
}

// isScheme reports a word that an HTTP credential stands behind.
func isScheme(word []byte) bool {
	for _, scheme := range [...]string{"bearer", "basic", "token", "apikey", "negotiate"} {
		if strings.EqualFold(string(word), scheme) {
			return true
		}
	}
	return false
}

func partsValues(r rune) bool {
	return r == ' ' || r == ';' || r == ',' || r == '\t' || r == '\r' || r == '\n'
}

// passwordOf is the password of the base64 of "user:password".
func passwordOf(value []byte) ([]byte, bool) {
	if len(value) > 1024 || !basicPair(string(value)) {
		return nil, false
	}
	pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(value), "="))
	_, password, has := bytes.Cut(pair, []byte(":"))
	return password, err == nil && has
}

// harvest keeps a discovered value, if it is one that nobody would write by chance.
func (b *builder) harvest(value []byte, id int) {
	const least = 12
	if len(value) < least || len(value) > MaxValue || !strong(string(value)) || len(b.harvested) >= harvestLimit {
		return
	}
	for _, h := range b.harvested {
		if h.reveal() == string(value) {
			return
		}
	}
	m := b.marks[id]
	b.harvested = append(b.harvested, newSecret(m.name, string(value), m.source))
	b.ids = append(b.ids, id)
}
