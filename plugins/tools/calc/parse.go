package main

import "github.com/b3abf3ee/portcullis/sdk"

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

func oneOf(k kind, of []kind) bool {
	for _, o := range of {
		if k == o {
			return true
		}
	}
	return false
}
