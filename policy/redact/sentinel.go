package redact

import (
	"bytes"
	"encoding/json"
)

// Sentinel is the word in every mask that a model sees. It says who removed something, and it can be found again:
// a model that writes a mask back into a file or a request would destroy the value it stands for, so an effect
// whose input has one must be refused. It holds no character that JSON, HTML or a URL would escape.
const Sentinel = "portcullis-redacted-by-host"

// ContainsSentinel reports whether text has a mask of any view in it, also behind escapes, and the model's mask behind
// every encoding that values are looked for in: base64 of a mask is still no value. A text that is encoded in so many
// ways that it cannot be searched counts as having one. Ask it about an effect's arguments before the effect runs.
func ContainsSentinel(text []byte) (has bool) {
	defer func() {
		if recover() != nil {
			has = true
		}
	}()
	f := sentinels
	f.effort = newFinder(len(text)).effort
	for levels := depth; levels >= 0; levels-- {
		if mayMask(text) && (bytes.Contains(text, []byte(Sentinel)) || bytes.Contains(text, []byte(sentinelBackwards)) || containsMask(text) || containsMaskValue(text)) {
			return true
		}
		run := levels > 0 && f.mayRun(text)
		if run && len(f.runs(text, levels, nil)) > 0 {
			return true
		}
		if (run || bytes.IndexByte(text, 0) >= 0) && len(f.search(text, nil)) > 0 { // UTF-16, and base64 backwards
			return true
		}
		d := unescape(text, common)
		if d.text == nil {
			return false
		}
		text = d.text
	}
	return false
}

// sentinels looks for the model's mask. It is never written: who looks takes a copy.
var sentinels = func() (f finder) {
	f.add(compile([]Secret{newSecret("mask", Sentinel, Bound)}, nil))
	return f
}()

const sentinelBackwards = "tsoh-yb-detcader-silluctrop"

// The word that is in every mask, and in [sentinelBackwards].
const (
	maskWord      = "redacted"
	wordBackwards = "detcader"
)

// mayMask reports whether text holds the word that is in every mask, forwards or backwards. Almost no argument does, and one
// look for it takes the place of four.
func mayMask(text []byte) bool {
	const n = len(maskWord)
	for i := 0; i+n <= len(text); i += n - 1 {
		// The last two bytes of the window lie in every word that begins in it, so that the next but them begins behind.
		if firsts[text[i+n-2]]&seconds[text[i+n-1]] == 0 {
			continue
		}
		for _, word := range [...]string{maskWord, wordBackwards} {
			if bytes.Contains(text[i:min(i+2*n-2, len(text))], []byte(word)) {
				return true
			}
		}
	}
	return false
}

// firsts and seconds have a bit for each pair of letters that stands in either word, by its first and its second letter.
// They are never written.
var firsts, seconds = pairs()

func pairs() (first, second [256]uint16) {
	bit := map[string]uint16{}
	for _, word := range [...]string{maskWord, wordBackwards} {
		for i := range len(word) - 1 {
			pair := word[i : i+2]
			if bit[pair] == 0 {
				bit[pair] = 1 << len(bit)
			}
			first[pair[0]] |= bit[pair]
			second[pair[1]] |= bit[pair]
		}
	}
	return first, second
}

// containsMask finds "<redacted:NAME" up to its closing bracket, the masks that people and audit records see.
func containsMask(text []byte) bool {
	for {
		_, rest, ok := bytes.Cut(text, []byte(maskOpen))
		if !ok {
			return false
		}
		n := span0(rest, func(c byte) bool { return isURLSafe(c) || c == '.' || c == ':' })
		if n > 0 && n < len(rest) && rest[n] == '>' {
			return true
		}
		text = rest
	}
}

// containsMaskValue finds the object that stands for a whole value in the event, durable and debug views, with its
// members in any order: those of [Audience.value] and no others.
func containsMaskValue(text []byte) bool {
	const member = `"redacted"`
	for at := 0; ; at += len(member) {
		n := bytes.Index(text[at:], []byte(member))
		if n < 0 {
			return false
		}
		at += n
		open, end := bytes.LastIndexByte(text[:at], '{'), bytes.IndexByte(text[at:], '}')
		if open >= 0 && end >= 0 && isMaskValue(text[open:at+end+1]) {
			return true
		}
	}
}

func isMaskValue(object []byte) bool {
	const longest = 256 // a name of 64 bytes, the words around it, and blanks
	if len(object) > longest {
		return false
	}
	var mask struct {
		Redacted    *bool
		Name        *string
		Source      *Source
		Fingerprint string
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.DisallowUnknownFields()
	if dec.Decode(&mask) != nil || mask.Redacted == nil || mask.Name == nil || mask.Source == nil {
		return false
	}
	return *mask.Redacted && mask.Source.known()
}
