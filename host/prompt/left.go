package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Left is what earlier turns of a session left that a model must know before it acts again: calls of which nobody saw the
// end, calls whose end its history does not show, and that the turn before was cut off. The zero Left is nothing.
type Left struct {
	CutOff  bool     // the turn before ended because whoever ran it was gone
	Effects []Unseen // newest first
	More    bool     // there are older ones than these
}

// Unseen is one call whose end nobody saw, or that ended and whose result is not in the session's history, because its turn
// came to no further message.
type Unseen struct {
	Tool      string
	Arguments json.RawMessage // of the durable view
	Started   time.Time
	Ended     string          // the status of one that ended; empty: nobody saw its end
	Result    json.RawMessage // of the durable view, of one that succeeded
	// Settled is what was found out since: "happened", "not_happened" or "may_be_repeated"; empty while it is open.
	Settled   string
	Reference string // where its plugin says that it can be looked at
}

// Bounds of what a model is told about earlier turns.
const (
	// MaxLeft is how many calls.
	MaxLeft   = 8
	maxQuoted = 240 // bytes of one call's arguments, and of its result
)

// note says it in words. It stands in the prompt once, quotes what others wrote, and asks for nothing. hide is asked before
// anything is cut: a part of a secret would not be found.
func (l Left) note(hide func(string) string) string {
	if !l.CutOff && len(l.Effects) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("[Note from the host about earlier turns of this conversation. It is not a request.")
	if l.CutOff {
		b.WriteString("\nThe turn before this one was cut off: the program that ran it was gone. What it had not begun was not done, and nothing of it is run again by itself.")
	}
	for _, e := range l.Effects {
		fmt.Fprintf(&b, "\n- %s, called at %s with %s: %s", e.Tool, e.Started.UTC().Format("2006-01-02 15:04:05 UTC"), quoted(hide(string(e.Arguments))), e.words(hide))
	}
	if l.More {
		b.WriteString("\n- Older calls than these are left out here.")
	}
	b.WriteString("\nEnd of the note.]")
	return hide(b.String())
}

// words are what is known of the call, and what follows from it.
func (e Unseen) words(hide func(string) string) string {
	switch {
	case e.Ended == "succeeded" && len(e.Result) > 0:
		return "it happened, which the conversation does not show. Its result was " + quoted(hide(string(e.Result))) + ". Do not repeat it."
	case e.Ended == "succeeded":
		return "it happened, which the conversation does not show. Do not repeat it."
	case e.Ended != "":
		return "it was begun and ended as " + e.Ended + ", which the conversation does not show. It may have done a part: look with a tool that only reads before you repeat it."
	}
	switch e.Settled {
	case "happened":
		where := ""
		if e.Reference != "" {
			where = fmt.Sprintf(" (its plugin names %q)", e.Reference)
		}
		return "its end was not seen, and it was found out since that it happened" + where + ". Do not repeat it."
	case "not_happened":
		return "its end was not seen, and it was found out since that it did not happen. Call it again only if it is still wanted."
	case "may_be_repeated":
		return "it is not known whether it happened. Calling it again does no harm if it is still wanted."
	}
	return "it is not known whether it happened. Do not repeat it: say so to the user, or look with a tool that only reads."
}

// quoted is the beginning of a document as one line.
func quoted(doc string) string {
	if doc == "" {
		return "arguments that were not kept"
	}
	text := head(doc, maxQuoted)
	if len(text) < len(doc) {
		text += "…"
	}
	return text
}

// Asked are the ids of the calls that a stored message makes. An error means that it cannot be read.
func Asked(body json.RawMessage) ([]string, error) {
	m, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("prompt: read the calls of a message: %w", err)
	}
	var ids []string
	for _, c := range m.Calls() {
		ids = append(ids, c.ID)
	}
	return ids, nil
}
