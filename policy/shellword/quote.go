// Package shellword owns how a text is written as one word of a command that a person is told to type: a path with a
// space in it, or a grant whose brackets or star a shell would take for a pattern.
//
// It is for what is shown. Nothing here is run, and no line of a shell is read. It is pure.
package shellword

import "strings"

// plain are the characters that no POSIX shell gives a meaning inside a word.
// Source: POSIX.1-2017, Shell Command Language, 2.2 Quoting.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@:,="

// Quote is text as one word of a POSIX shell: as it is where that is safe, else between single quotes.
func Quote(text string) string {
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(plain, r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
