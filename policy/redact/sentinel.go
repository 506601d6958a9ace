package redact

import "bytes"

// Sentinel is the word in every mask that a model sees. It says who removed something, and it can be found again:
// a model that writes a mask back into a file or a request would destroy the value it stands for, so an effect
// whose input has one must be refused. It holds no character that JSON, HTML or a URL would escape.
const Sentinel = "portcullis-redacted-by-host"

// ContainsSentinel reports whether text has a mask of any view in it, also behind one or two layers of escapes. Ask
// it about an effect's arguments before the effect runs.
func ContainsSentinel(text []byte) bool {
	for range depth {
		if bytes.Contains(text, []byte(Sentinel)) || containsMask(text) {
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
