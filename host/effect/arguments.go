package effect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/document"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of an argument document.
const (
	MaxArgumentBytes = 1 << 20
	MaxArgumentDepth = 64
)

// Bounds of one number of a result.
const (
	maxNumber = 400 // bytes: the longest double without an exponent has 309 digits
	maxPower  = 400

	plainNumber = 32 // bytes of one that any double holds, when it has no exponent
)

// maxExactInteger is the largest integer that every I-JSON reader agrees on (RFC 7493 section 2.2).
const maxExactInteger = 1<<53 - 1

// Arguments are one call's arguments as the gate admits them: canonical bytes (RFC 8785) and their digest. The
// bytes that are validated, approved, recorded and handed to the adapter are these and no others.
type Arguments struct {
	canonical json.RawMessage
	read      document.Document // of canonical
	digest    string
}

// Bytes returns the canonical document. The caller must not change it.
func (a Arguments) Bytes() json.RawMessage { return a.canonical }

// Digest is the sha256 of the canonical document in lower-case hex.
func (a Arguments) Digest() string { return a.digest }

// ArgumentError reports a document that is not one strict JSON object inside the bounds.
type ArgumentError struct {
	Code     string // "too_large", "too_deep", "not_json", "not_an_object", "number_not_exact"
	Sentence string
}

// Error is the sentence.
func (e *ArgumentError) Error() string { return e.Sentence }

// ParseArguments reads an argument document strictly: one JSON object, no duplicate names, valid UTF-8, at most
// [MaxArgumentBytes] and [MaxArgumentDepth], and no integer that a double cannot hold exactly, because canonical
// JSON would silently change it. Anything else is an [*ArgumentError]. A document that is canonical already is not copied:
// raw must not change any more.
func ParseArguments(raw []byte) (Arguments, error) { return parseArguments(nil, raw) }

// parseArguments is [ParseArguments] into the memory of a reader.
func parseArguments(r *document.Reader, raw []byte) (Arguments, error) {
	bad := func(code, format string, args ...any) (Arguments, error) {
		return Arguments{}, &ArgumentError{code, fmt.Sprintf(format, args...)}
	}
	if len(raw) > MaxArgumentBytes {
		return bad("too_large", "arguments have %d bytes, the limit is %d: pass large content by file", len(raw), MaxArgumentBytes)
	}
	read, err := r.ParseStrict(raw)
	if err == nil && read.At(read.Root()).Kind == document.Object && read.Depth() <= MaxArgumentDepth {
		if read.Canonical() {
			return admitted(read), nil
		}
		// Most models write blanks between tokens, and names in an order of their own.
		if text := read.Canonicalize(); text != nil {
			if read, err = r.ParseStrict(text); err == nil && read.Canonical() {
				return admitted(read), nil
			}
		}
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadToken(); err != nil {
			return bad("not_json", "arguments are not JSON: %s", tidy(err))
		}
		return bad("not_an_object", "arguments must be one JSON object, such as {\"name\": \"value\"}")
	}
	for first := true; first || dec.StackDepth() > 0; first = false {
		tok, err := dec.ReadToken()
		if err != nil {
			return bad("not_json", "arguments are not strict JSON: %s", tidy(err))
		}
		if dec.StackDepth() > MaxArgumentDepth {
			return bad("too_deep", "arguments are nested deeper than %d", MaxArgumentDepth)
		}
		if tok.Kind() == '0' && !exact(tok.String()) {
			return bad("number_not_exact", "%s at %s is not exact in JSON: pass it as a string", number(tok.String()), dec.StackPointer())
		}
	}
	if rest := bytes.TrimSpace(raw[dec.InputOffset():]); len(rest) > 0 {
		return bad("not_json", "arguments go on after the object, at byte %d", dec.InputOffset())
	}
	doc := jsontext.Value(bytes.Clone(raw))
	if err := doc.Canonicalize(); err != nil {
		return bad("not_json", "arguments are not strict JSON: %s", tidy(err))
	}
	if read, err = r.ParseStrict(doc); err != nil {
		return bad("not_json", "arguments are not strict JSON")
	}
	return admitted(read), nil
}

func admitted(read document.Document) Arguments {
	sum := sha256.Sum256(read.Bytes())
	var digest [2 * sha256.Size]byte
	hex.Encode(digest[:], sum[:])
	return Arguments{canonical: read.Bytes(), read: read, digest: string(digest[:])}
}

func exact(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	if strings.ContainsAny(number, ".eE") {
		return true
	}
	return f >= -maxExactInteger && f <= maxExactInteger
}

// ordinary reports whether a number is one that a double holds, within rounding, and is not written at a length that
// no double needs.
func ordinary(number string) bool {
	if len(number) > maxNumber {
		return false
	}
	if len(number) <= plainNumber && !strings.ContainsAny(number, "eE") {
		return true
	}
	_, power, has := strings.Cut(strings.ToLower(number), "e")
	if n, err := strconv.Atoi(power); has && (err != nil || n > maxPower || n < -maxPower) {
		return false
	}
	_, err := strconv.ParseFloat(number, 64)
	return err == nil
}

// tidy keeps a decoder's own sentence without its package prefix: the reader is a person or a model.
func tidy(err error) string { return strings.TrimPrefix(err.Error(), "jsontext: ") }

// readStrict reads raw, which must be one strict JSON value inside the depth bound; the error says why it is not. Its
// numbers must be such as a double holds: 1e999999 is nine bytes that take a reader with exact numbers a million digits.
func readStrict(r *document.Reader, raw []byte) (document.Document, error) {
	read, err := r.ParseStrict(raw)
	if err == nil && read.Depth() <= MaxArgumentDepth && ordinaryNumbers(&read) {
		return read, nil
	}
	if why := strictFault(raw); why != nil {
		err = why
	}
	return document.Document{}, err
}

func ordinaryNumbers(d *document.Document) bool {
	if d.Ordinary() {
		return true
	}
	for i := range d.Len() {
		t := d.At(i)
		if t.Kind != document.Scalar {
			continue
		}
		if t.Class >= document.Integer && !ordinary(string(d.Literal(t))) { // most are short: no copy is made of those
			return false
		}
	}
	return true
}

// number is a literal inside a sentence, whole or not at all: a part of a secret of digits could not be hidden any more.
func number(literal string) string {
	if len(literal) > 40 {
		return fmt.Sprintf("a number of %d characters", len(literal))
	}
	return "number " + literal
}

// strictFault reads raw token by token to say what is wrong with it, or nil.
func strictFault(raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	for first := true; first || dec.StackDepth() > 0; first = false {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if tok.Kind() == '0' && !ordinary(tok.String()) {
			return fmt.Errorf("%s at %s is not one that a double holds", number(tok.String()), dec.StackPointer())
		}
		if dec.StackDepth() > MaxArgumentDepth {
			return fmt.Errorf("it is nested deeper than %d", MaxArgumentDepth)
		}
	}
	if rest := bytes.TrimSpace(raw[dec.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("it goes on after its end, at byte %d", dec.InputOffset())
	}
	return nil
}
