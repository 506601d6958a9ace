package redacttest

import "strings"

// Others are texts that encode gives for other values, of the lengths that shift what stands behind a value in every
// way, to tell what of a planted text comes from the value itself.
func Others(encode func(string) string, value string) string {
	var all []string
	for more := range 12 {
		all = append(all, encode(strings.Repeat("J", len(value)+more)))
	}
	return strings.Join(all, "\n")
}

// Leak returns a part of planted that depends on the secret and still stands in view, or "".
func Leak(view, planted, unplanted string) string {
	const window = 8
	for i := 0; i+window <= len(planted); i++ {
		w := planted[i : i+window]
		if strings.Contains(view, w) && !strings.Contains(unplanted, w) {
			return w
		}
	}
	return ""
}
