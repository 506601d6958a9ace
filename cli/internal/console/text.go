package console

import (
	"fmt"
	"io"
	"strings"
)

// Text writes for people. Arguments of its formats are escaped by [Line] before they are formatted, unless they are
// numbers, booleans or a [Styled]; only the format itself, which is ours, may hold line breaks. A Text is not safe
// for concurrent use. It keeps the first error of its writer and is silent after it: who reads a pipe may leave.
type Text struct {
	w     io.Writer
	paint bool
	width int
	err   error

	typing Typing
}

// NewText returns a Text on w; paint turns colours on, width is the terminal's in columns, 0 when it has none.
func NewText(w io.Writer, paint bool, width int) *Text {
	return &Text{w: w, paint: paint, width: width}
}

// Say writes one formatted line, the line break included. Commands between backticks of the format, and those given as
// a [Command], are written as they must be typed.
func (t *Text) Say(format string, args ...any) {
	t.write(fmt.Sprintf(t.format(format), t.safe(args)...) + "\n")
}

// Part writes a piece of a line, for a question whose answer stands behind it.
func (t *Text) Part(format string, args ...any) {
	t.write(fmt.Sprintf(t.format(format), t.safe(args)...))
}

// format is a format with its commands as they must be typed.
func (t *Text) format(format string) string {
	y := t.typing
	y.Program, y.Home = strings.ReplaceAll(y.Program, "%", "%%"), Line(strings.ReplaceAll(y.Home, "%", "%%"))
	return y.Sentence(format)
}

// Prose writes a text of several lines as [Prose] leaves it, each line indented, ended by a line break.
func (t *Text) Prose(indent, s string) {
	for line := range strings.SplitSeq(strings.TrimRight(Prose(s), "\n"), "\n") {
		t.write(indent + line + "\n")
	}
}

// Advice is [Text.Prose] of a sentence of the host's, whose commands between backticks are written as they must be typed.
func (t *Text) Advice(indent, s string) { t.Prose(indent, t.typing.Sentence(s)) }

// Stream writes a piece of streamed text as [Prose] leaves it and adds nothing.
func (t *Text) Stream(s string) { t.write(Prose(s)) }

// Err is the first error of the writer.
func (t *Text) Err() error { return t.err }

func (t *Text) write(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, s)
	}
}

// safe replaces every argument that could hold foreign text by its escaped form.
func (t *Text) safe(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = t.value(a)
	}
	return out
}

func (t *Text) value(a any) any {
	switch v := a.(type) {
	case Styled:
		return t.style(v)
	case Command:
		return Line(t.typing.Remedy(string(v)))
	case bool, int, int64, float64, uint64:
		return v
	case string:
		return Line(v)
	case error:
		return Line(v.Error())
	case fmt.Stringer:
		return Line(v.String())
	}
	return Line(fmt.Sprint(a))
}

// Command is an argument of [Text.Say] that tells a person what to type: its commands are written as they must be
// typed, see [Typing].
type Command string

// Styled is text with a colour. Its text is escaped like any other.
type Styled struct {
	text string
	code string
}

// Bold, Dim, Good, Bad and Warn give a text the style of its meaning; without colours it stays as it is.
func Bold(s string) Styled { return Styled{s, "1"} }

// Dim is for what can be passed over.
func Dim(s string) Styled { return Styled{s, "2"} }

// Good is for a yes.
func Good(s string) Styled { return Styled{s, "32"} }

// Bad is for a no.
func Bad(s string) Styled { return Styled{s, "31"} }

// Warn is for what needs a look.
func Warn(s string) Styled { return Styled{s, "33"} }

func (t *Text) style(v Styled) string {
	if !t.paint {
		return Line(v.text)
	}
	return "\x1b[" + v.code + "m" + Line(v.text) + "\x1b[0m"
}
