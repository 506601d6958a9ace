package rule

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
)

// Search looks for one text in turns that it is shown newest first, until it has enough or has looked at enough.
type Search struct {
	want  string // folded
	limit int
	turns int
	bytes int
	got   turn.Findings
}

// NewSearch refuses a query that could find anything or nothing.
func NewSearch(q turn.SearchQuery) (*Search, error) {
	if strings.TrimSpace(q.Text) == "" || len(q.Text) > turn.MaxSearchText || !utf8.ValidString(q.Text) {
		return nil, fmt.Errorf("the text to look for must be 1 to %d bytes of UTF-8", turn.MaxSearchText)
	}
	if err := Limit(q.Limit, turn.MaxFindings); err != nil {
		return nil, err
	}
	return &Search{want: fold(q.Text), limit: q.Limit, got: turn.Findings{Whole: true}}, nil
}

// Look takes one turn and reports whether it wants another.
func (s *Search) Look(f turn.Finding, input, reply string) bool {
	s.turns++
	s.bytes += len(input) + len(reply)
	if len(s.got.Turns) == s.limit || s.turns > turn.MaxSearchTurns || s.bytes > turn.MaxSearchedText {
		s.got.Whole = false
		return false
	}
	for _, in := range []struct{ name, text string }{{"input", input}, {"reply", reply}} {
		if excerpt, ok := s.find(in.text); ok {
			f.In, f.Excerpt = in.name, excerpt
			s.got.Turns = append(s.got.Turns, f)
			break
		}
	}
	return true
}

// Findings are what was found.
func (s *Search) Findings() turn.Findings { return s.got }

// find cuts what stands around the first place of the text.
func (s *Search) find(text string) (string, bool) {
	at := strings.Index(fold(text), s.want)
	if at < 0 {
		return "", false
	}
	const before = turn.MaxExcerpt / 4
	from := max(0, at-before)
	to := min(len(text), from+turn.MaxExcerpt-2*len("…"))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	excerpt := text[from:to]
	if from > 0 {
		excerpt = "…" + excerpt
	}
	if to < len(text) {
		excerpt += "…"
	}
	return excerpt, true
}

// fold makes case make no difference and leaves every byte where it is: a letter whose other case is of another length
// stays as it is.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if low := unicode.ToLower(r); utf8.RuneLen(low) == utf8.RuneLen(r) {
			return low
		}
		return r
	}, s)
}

// LegacyQuery refuses a look that names nothing, or everything, or no reason.
func LegacyQuery(q turn.LegacyQuery) error {
	n := utf8.RuneCountInString(strings.TrimSpace(q.Reason))
	switch {
	case (q.Session == "") == (q.Turn == ""):
		return errors.New("exactly one session or one turn must be named")
	case n < 1 || n > turn.MaxRepairReason:
		return fmt.Errorf("the reason must have 1 to %d characters", turn.MaxRepairReason)
	}
	return nil
}

// LegacyLookup is what q looks for.
func LegacyLookup(q turn.LegacyQuery) Lookup {
	if q.Turn != "" {
		return Lookup{What: "turn", ID: string(q.Turn)}
	}
	return Lookup{What: "session", ID: string(q.Session)}
}

// Accessed makes r the record of a look at a session without a certain owner.
func Accessed(r event.Record, q turn.LegacyQuery, found id.Session, why Reason) event.Record {
	l := LegacyLookup(q)
	r.Kind = event.LegacyAccessed
	r.Fields = []event.Field{
		event.F("what", l.What), event.F("id", cutID(l.ID)), event.F("reason", strings.Join(strings.Fields(q.Reason), " ")),
		event.F("session", string(found)), event.F("found", string(why)),
	}
	return Normal(r)
}
