package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Printer gives a command's answer in the form that was asked for: text for people, or one JSON document.
type Printer struct {
	out, err *Text
	raw      io.Writer
	json     bool
	typing   Typing
}

// NewPrinter returns a Printer over a process's streams.
func NewPrinter(p Process, asJSON, colour bool) *Printer {
	paint := func(w io.Writer) bool { return colour && isTerminal(w) && !asJSON }
	return &Printer{
		out:  NewText(p.Out, paint(p.Out), width(p.Out)),
		err:  NewText(p.Err, paint(p.Err), width(p.Err)),
		raw:  p.Out,
		json: asJSON,
	}
}

// Type sets how commands are to be typed, in every text and failure from now on.
func (p *Printer) Type(y Typing) { p.typing, p.out.typing, p.err.typing = y, y, y }

// Typed is a remedy, or a line of commands, as it must be typed: for what goes into a document.
func (p *Printer) Typed(remedy string) string { return p.typing.Remedy(remedy) }

// JSON reports whether the answer is a JSON document.
func (p *Printer) JSON() bool { return p.json }

// Out is where the answer for people goes. Under --json nothing may be written to it.
func (p *Printer) Out() *Text { return p.out }

// Err is where notes that are not the answer go: progress, warnings, what to type next.
func (p *Printer) Err() *Text { return p.err }

// Answer prints doc under --json, else calls human. The error is the writer's own.
func (p *Printer) Answer(doc any, human func(*Text)) error {
	if !p.json {
		human(p.out)
		return p.out.Err()
	}
	return p.document(doc)
}

// Fail prints a failure: under --json as a document on stdout, else on stderr.
func (p *Printer) Fail(f *Problem) error {
	typed := *f
	typed.Message, typed.Remedy = p.typing.Sentence(f.Message), p.typing.Remedy(f.Remedy)
	f = &typed
	if p.json {
		return p.document(f.Document())
	}
	p.err.Part("%s ", Bad("portcullis:"))
	p.err.Prose("", f.Error())
	if f.Remedy != "" {
		p.err.Prose("  ", f.Remedy)
	}
	return p.err.Err()
}

func (p *Printer) document(doc any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("console: encode the answer: %w", err)
	}
	if _, err := p.raw.Write(asciiJSON(buf.Bytes())); err != nil {
		return fmt.Errorf("console: write the answer: %w", err)
	}
	return nil
}
