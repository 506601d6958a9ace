package main

import (
	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/cockroachdb/apd/v3"
)

// Bounds of an expression.
const (
	maxExpression = 4096 // bytes
	maxNesting    = 64   // brackets, calls, signs and powers inside each other
)

// The grammar, loosest first. Unary minus binds looser than a power, as on
// paper: -2^2 is -4, and 2^-1 is allowed.
//
//	sum     = product { ("+" | "-") product }
//	product = signed { ("*" | "/" | "%") signed }
//	signed  = ("+" | "-") signed | power
//	power   = atom [ "^" signed ]
//	atom    = number | constant | function "(" sum { "," sum } ")" | "(" sum ")"
type parser struct {
	lex   lexer
	tok   token // the one to look at
	last  kind  // the one before it
	depth int
}

// parse turns an expression into a tree. It refuses what is too long or nested
// too deeply before it recurses any further.
func parse(expression string) (*node, error) {
	if len(expression) > maxExpression {
		return nil, sdk.Errorf(sdk.TooLarge, "the expression has %d bytes, at most %d are allowed", len(expression), maxExpression)
	}
	p := &parser{lex: lexer{rest: expression}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == kindEnd {
		return nil, sdk.Errorf(sdk.Invalid, "the expression is empty; write one such as 0.1+0.2")
	}
	n, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != kindEnd {
		return nil, p.unexpected("an operator or the end")
	}
	return n, nil
}

func (p *parser) advance() error {
	p.last = p.tok.kind
	t, err := p.lex.next()
	p.tok = t
	return err
}

func (p *parser) sum() (*node, error) {
	return p.chain(p.product, '+', '-')
}

func (p *parser) product() (*node, error) {
	return p.chain(p.signed, '*', '/', '%')
}

// chain reads operands joined by any of ops, grouping from the left.
func (p *parser) chain(operand func() (*node, error), ops ...kind) (*node, error) {
	left, err := operand()
	for err == nil && oneOf(p.tok.kind, ops) {
		op := p.tok.kind
		if err = p.advance(); err != nil {
			break
		}
		var right *node
		if right, err = operand(); err == nil {
			left = &node{op: op, args: []*node{left, right}}
		}
	}
	return left, err
}

func (p *parser) signed() (*node, error) {
	if p.tok.kind != '+' && p.tok.kind != '-' {
		return p.power()
	}
	sign := p.tok.kind
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.signed()
	if err != nil || sign == '+' {
		return n, err
	}
	return &node{op: opNegate, args: []*node{n}}, nil
}

func (p *parser) power() (*node, error) {
	base, err := p.atom()
	if err != nil || p.tok.kind != '^' {
		return base, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	exponent, err := p.signed()
	if err != nil {
		return nil, err
	}
	return &node{op: '^', args: []*node{base, exponent}}, nil
}

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

func (p *parser) enter() error {
	p.depth++
	if p.depth > maxNesting {
		return sdk.Errorf(sdk.TooLarge, "character %d: nested more than %d deep", p.tok.at, maxNesting)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// unexpected says what was found and what would have been right.
func (p *parser) unexpected(wanted string) error {
	switch {
	case p.last == '%':
		return sdk.Errorf(sdk.Invalid, "character %d: %% is the remainder of a division and needs a number after it; for per cent write /100", p.tok.at)
	case p.tok.kind == kindEnd:
		return sdk.Errorf(sdk.Invalid, "character %d: the expression ends where %s is expected", p.tok.at, wanted)
	case p.tok.kind == ',':
		return sdk.Errorf(sdk.Invalid, "character %d: a comma separates arguments of a function only; write 1000.5, not 1,000.5", p.tok.at)
	}
	return sdk.Errorf(sdk.Invalid, "character %d: found %q where %s is expected", p.tok.at, p.tok.text, wanted)
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

func oneOf(k kind, of []kind) bool {
	for _, o := range of {
		if k == o {
			return true
		}
	}
	return false
}

// clip shortens what a message repeats.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
