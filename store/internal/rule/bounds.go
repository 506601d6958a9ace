package rule

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Page sizes of the history and approval listings, and of the audit listing, and how far any of them is gone through.
const (
	MaxPage   = 500
	MaxEvents = 1000
	MaxSkip   = 100_000
)

// MaxTitle bounds the title of a session, in runes.
const MaxTitle = 80

// Limit refuses a page size outside 1..most: a listing without a bound is a mistake of the caller, not a wish.
func Limit(n, most int) error {
	if n < 1 || n > most {
		return fmt.Errorf("limit %d is outside 1..%d", n, most)
	}
	return nil
}

// Page refuses a part of a listing outside of its bounds. One element more than a page may be asked for: it tells whether
// the list goes on.
func Page(skip, limit, most int) error {
	if skip < 0 || skip > MaxSkip {
		return fmt.Errorf("skip %d is outside 0..%d", skip, MaxSkip)
	}
	return Limit(limit, most+1)
}

// Cut is the part of a whole listing that a page is.
func Cut[T any](all []T, skip, limit int) []T {
	begin := min(skip, len(all))
	if begin == len(all) {
		return nil // as of a query without rows
	}
	return all[begin:min(begin+limit, len(all))]
}

// Window refuses bounds that can hold nothing.
func Window(limit, maxBytes int) error {
	if limit < 1 || maxBytes < 1 {
		return fmt.Errorf("window of %d messages and %d bytes holds nothing", limit, maxBytes)
	}
	return nil
}

// Millis is t as stores keep it: UTC, whole milliseconds. The zero time stays zero.
func Millis(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// Span is d as stores keep it.
func Span(d time.Duration) time.Duration { return d.Truncate(time.Millisecond) }

// Title is the beginning of an input: its first line that is not empty, at most [MaxTitle] runes.
func Title(input string) string {
	input = strings.TrimSpace(input)
	line, _, _ := strings.Cut(input, "\n")
	line = strings.TrimSpace(line)
	if utf8.RuneCountInString(line) <= MaxTitle {
		return line
	}
	return string([]rune(line)[:MaxTitle-1]) + "…"
}
