// Package spelling finds the name that a person most likely meant. It owns the rule for how wrong a word may be to count as a
// misspelling; what is done about one is its caller's. It keeps nothing.
package spelling

import (
	"strings"

	edlib "github.com/hbollon/go-edlib"
)

// maxWord is how many bytes of a word are compared: the time grows with the product of both lengths, and the word is whatever
// somebody typed.
const maxWord = 64

// Nearest is the known name that word most likely misspells, the first of several, or "". A third of its letters may be
// wrong, and one of a shorter word: a neighbour that changed places counts once. More than that is another word.
func Nearest(word string, known []string) string {
	return Within(max(1, len(word)/3), word, known)
}

// Within is the known name that is fewest edits away from word, the first of several, or "" where none is within most edits.
// Upper and lower case of word are the same.
func Within(most int, word string, known []string) string {
	best, word := "", strings.ToLower(word)
	if len(word) > maxWord {
		return ""
	}
	for _, name := range known {
		if len(name) > maxWord {
			continue
		}
		if d := edlib.OSADamerauLevenshteinDistance(word, name); d <= most {
			best, most = name, d-1
		}
	}
	return best
}
