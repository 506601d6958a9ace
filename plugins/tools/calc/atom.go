package main

import (
	"github.com/cockroachdb/apd/v3"

	"github.com/b3abf3ee/portcullis/sdk"
)

func (p *parser) atom() (*node, error) {
	switch p.tok.kind {
	case kindNumber:
		n, err := number(p.tok)
		if err != nil {
			return nil, err
		}
		return n, p.advance()
	case kindName:
		return p.named()
	case '(':
		return p.inBrackets()
	}
	return nil, p.unexpected("a number")
}

func (p *parser) inBrackets() (*node, error) {
	args, err := p.list(1)
	if err != nil {
		return nil, err
	}
	return args[0], nil
}

// named is a constant, or a function with its arguments.
func (p *parser) named() (*node, error) {
	name := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	if value, ok := constant(name.text); ok {
		return &node{op: opNumber, text: name.text, value: value}, nil
	}
	f, ok := function(name.text)
	if !ok {
		return nil, sdk.Errorf(sdk.Invalid, "character %d: %q is not known; known are %s", name.at, name.text, knownNames)
	}
	if p.tok.kind != '(' {
		return nil, p.unexpected("an opening bracket after " + name.text)
	}
	args, err := p.list(f.most)
	if err != nil {
		return nil, err
	}
	if len(args) < f.least || len(args) > f.most {
		return nil, sdk.Errorf(sdk.Invalid, "character %d: %s takes %s, not %d", name.at, name.text, f.counts(), len(args))
	}
	return &node{op: opCall, text: name.text, args: args}, nil
}

// list reads "(" sum { "," sum } ")". With most 1 a comma is explained, since it
// is usually meant to group thousands.
func (p *parser) list(most int) ([]*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var args []*node
	for {
		if err := p.advance(); err != nil { // over "(" or ","
			return nil, err
		}
		n, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, n)
		switch {
		case p.tok.kind == ')':
			return args, p.advance()
		case p.tok.kind != ',' || most == 1:
			return nil, p.unexpected("a closing bracket")
		}
	}
}

// number reads a literal exactly: no digit is lost.
func number(t token) (*node, error) {
	d, _, err := apd.NewFromString(t.text)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "character %d: %s is outside the range of numbers", t.at, clip(t.text))
	}
	if d.NumDigits() > workDigits {
		return nil, sdk.Errorf(sdk.TooLarge, "character %d: the number has %d digits, at most %d are allowed", t.at, d.NumDigits(), workDigits)
	}
	if err := inRange(d); err != nil {
		return nil, err
	}
	return &node{op: opNumber, text: t.text, value: d}, nil
}

// clip shortens what a message repeats.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
