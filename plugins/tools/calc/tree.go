package main

import (
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// Operators of a [node] that are not a character of the grammar.
const (
	opNumber kind = 'n' // value, written as text
	opNegate kind = 'm'
	opCall   kind = 'f' // function text
)

// node is one part of a parsed expression. It is never changed once made.
type node struct {
	op    kind
	text  string
	value *apd.Decimal
	args  []*node
}

// String writes the expression with the fewest brackets that parse to the same
// tree, so the text is never longer nor deeper than what it was parsed from.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch n.op {
	case opNumber:
		b.WriteString(n.text)
	case opNegate:
		b.WriteByte('-')
		n.args[0].writeIn(b, n.args[0].binding() < bindSign)
	case opCall:
		b.WriteString(n.text)
		b.WriteByte('(')
		for i, a := range n.args {
			if i > 0 {
				b.WriteByte(',')
			}
			a.write(b)
		}
		b.WriteByte(')')
	case '^':
		n.args[0].writeIn(b, n.args[0].binding() <= bindPower)
		b.WriteByte('^')
		n.args[1].writeIn(b, n.args[1].binding() < bindSign)
	default:
		n.args[0].writeIn(b, n.args[0].binding() < n.binding())
		b.WriteByte(byte(n.op))
		n.args[1].writeIn(b, n.args[1].binding() <= n.binding())
	}
}

func (n *node) writeIn(b *strings.Builder, brackets bool) {
	if brackets {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	n.write(b)
}

// How tightly an operator holds its operands, loosest first.
const (
	bindSum = iota
	bindProduct
	bindSign
	bindPower
	bindAtom
)

func (n *node) binding() int {
	switch n.op {
	case '+', '-':
		return bindSum
	case '*', '/', '%':
		return bindProduct
	case opNegate:
		return bindSign
	case '^':
		return bindPower
	}
	return bindAtom
}
