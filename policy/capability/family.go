package capability

import (
	"fmt"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/spelling"
)

// argument is what stands after the family in a name of it.
type argument uint8

const (
	none   argument = iota // the family is the whole name
	host                   // host[:port]
	secret                 // the name of a secret
	word                   // an id: server, tool, channel instance, core
)

// family is one row of the table of what exists.
type family struct {
	name string
	arg  argument
	want string // the argument as a person would write it
}

// families is the whole grammar. It is an array behind a function that copies it, so that nobody can change the table at
// run time.
func families() [15]family {
	return [...]family{
		{"agents.spawn", word, "CORE"},
		{"channel.deliver", word, "INSTANCE"},
		{"channel.receive", word, "INSTANCE"},
		{"fs.read", none, ""},
		{"fs.write", none, ""},
		{"kv", none, ""},
		{"mcp.call", word, "SERVER"},
		{"mcp.connect", word, "SERVER"},
		{"net.fetch", host, "HOST"},
		{"process.exec", none, ""},
		{"schedule.manage", none, ""},
		{"secret.bind", secret, "NAME"},
		{"session.read", none, ""},
		{"task.control", none, ""},
		{"tool.call", word, "TOOL"},
	}
}

// Families lists the known families in alphabetical order, for help texts and completion.
func Families() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}

func lookup(name string) (family, bool) {
	for _, f := range families() {
		if f.name == name {
			return f, true
		}
	}
	return family{}, false
}

// SyntaxError reports text that is not a capability or grant. Want says what to write instead.
type SyntaxError struct {
	Text string // what was read; of more than 80 bytes its length: a part of a secret could not be hidden any more
	Want string
}

// Error names the text and what to write instead.
func (e *SyntaxError) Error() string { return fmt.Sprintf("capability %q: %s", e.Text, e.Want) }

func bad(text, want string, args ...any) error {
	if len(text) > 80 {
		text = fmt.Sprintf("a text of %d bytes", len(text))
	}
	return &SyntaxError{strings.ToValidUTF8(text, "?"), fmt.Sprintf(want, args...)}
}

// unknown names the nearest family, because a misspelt capability that is silently never granted costs an hour.
func unknown(text, name string) error {
	if strings.HasPrefix(text, name+"://") {
		return bad(text, "a URL is no capability: write net.fetch:%s", hostOfURL(text))
	}
	best := spelling.Within(len(name)-1, name, Families())
	if best == "" {
		return bad(text, "unknown; known are %s", strings.Join(Families(), ", "))
	}
	return bad(text, "unknown; did you mean %s? Known are %s", best, strings.Join(Families(), ", "))
}
