package redact

import "strconv"

// Audience is who reads a view.
type Audience uint8

// The five audiences. A Set never redacts less for one than for another: they differ in the mask, in the bounds,
// and in whether the text is made inert for a terminal.
const (
	ForModel    Audience = iota // the language model: masks say only that the host removed something, and why
	ForOperator                 // a person at a terminal: masks name the secret; control characters are escaped
	ForEvent                    // audit records: name and source
	ForDurable                  // the stored result: name and source
	ForDebug                    // name, source and a fingerprint of the value
	audiences
)

// String is the audience's word.
func (a Audience) String() string {
	if a < audiences {
		return [...]string{"model", "operator", "event", "durable", "debug"}[a]
	}
	return "audience " + strconv.Itoa(int(a))
}

const maskOpen = "<redacted:"

// mark is what a mask says of the secret that it stands for.
type mark struct {
	name        string
	source      Source
	fingerprint string
}

// mask writes the mask of m as it stands inside a text. Every part of it is plain ASCII without quotes.
func (a Audience) mask(out []byte, m mark) []byte {
	if a == ForModel {
		out = append(out, '[')
		out = append(out, Sentinel...)
		out = append(out, ':')
		out = append(out, m.source...)
		return append(out, ']')
	}
	out = append(out, maskOpen...)
	out = append(out, m.name...)
	if a != ForOperator {
		out = append(append(out, ':'), m.source...)
	}
	if a == ForDebug {
		out = append(append(out, ':'), m.fingerprint...)
	}
	return append(out, '>')
}

// value writes the mask of m as a whole JSON value: an object where machines read it, else a string.
func (a Audience) value(out []byte, m mark) []byte {
	if a == ForModel || a == ForOperator {
		out = append(out, '"')
		return append(a.mask(out, m), '"')
	}
	out = append(out, `{"redacted":true,"name":"`...)
	out = append(out, m.name...)
	out = append(out, `","source":"`...)
	out = append(out, m.source...)
	if a == ForDebug {
		out = append(out, `","fingerprint":"`...)
		out = append(out, m.fingerprint...)
	}
	return append(out, `"}`...)
}
