package main

import (
	"strings"
	"unicode/utf8"

	"github.com/b3abf3ee/portcullis/sdk"
)

// kind is what a token is; an operator or bracket is its own character.
type kind byte

const (
	kindEnd    kind = 0
	kindNumber kind = 'n'
	kindName   kind = 'a'
)

// token is a piece of an expression. at counts characters from 1, for messages.
type token struct {
	kind kind
	text string
	at   int
}

// lexer cuts an expression into tokens. It keeps no copy and looks at each byte
// a bounded number of times.
type lexer struct {
	rest string
	at   int // characters consumed
}

// next returns the following token; kindEnd for ever after the last.
func (l *lexer) next() (token, error) {
	l.skipSpace()
	if l.rest == "" {
		return token{kind: kindEnd, at: l.at + 1}, nil
	}
	switch c := l.rest[0]; {
	case isDigit(c) || c == '.':
		return l.number()
	case isLetter(c):
		n := 1
		for n < len(l.rest) && (isLetter(l.rest[n]) || isDigit(l.rest[n])) {
			n++
		}
		t := l.take(kindName, n)
		t.text = strings.ToLower(t.text)
		return t, nil
	}
	if strings.HasPrefix(l.rest, "**") {
		return l.take('^', len("**")), nil
	}
	r, size := utf8.DecodeRuneInString(l.rest)
	switch r {
	case '+', '-', '*', '/', '%', '^', '(', ')', ',':
		return l.take(kind(r), size), nil
	case '×', '·':
		return l.take('*', size), nil
	case '÷':
		return l.take('/', size), nil
	case '−': // the typographic minus that models and web pages copy
		return l.take('-', size), nil
	}
	return token{}, sdk.Errorf(sdk.Invalid, "character %d: %q means nothing here; known are + - * / %% ^ ( ) , numbers and names", l.at+1, r)
}

func (l *lexer) skipSpace() {
	trimmed := strings.TrimLeft(l.rest, " \t\r\n")
	l.at += len(l.rest) - len(trimmed)
	l.rest = trimmed
}

// take consumes n bytes as one token.
func (l *lexer) take(k kind, n int) token {
	t := token{kind: k, text: l.rest[:n], at: l.at + 1}
	l.at += utf8.RuneCountInString(t.text)
	l.rest = l.rest[n:]
	return t
}

// number takes digits[.digits][e[+-]digits]. What follows must not run on: 1.2.3
// and 0x10 are mistakes, not two tokens.
func (l *lexer) number() (token, error) {
	n := digits(l.rest, 0)
	if n < len(l.rest) && l.rest[n] == '.' {
		n = digits(l.rest, n+1)
	}
	if n == 1 && l.rest[0] == '.' {
		return token{}, sdk.Errorf(sdk.Invalid, "character %d: a dot alone is no number", l.at+1)
	}
	if n < len(l.rest) && (l.rest[n] == 'e' || l.rest[n] == 'E') {
		m := n + 1
		if m < len(l.rest) && (l.rest[m] == '+' || l.rest[m] == '-') {
			m++
		}
		if end := digits(l.rest, m); end > m {
			n = end
		}
	}
	if n < len(l.rest) && (isDigit(l.rest[n]) || isLetter(l.rest[n]) || l.rest[n] == '.' || l.rest[n] == '_') {
		return token{}, sdk.Errorf(sdk.Invalid, "character %d: %q runs on into %q; write plain decimal numbers and * between factors", l.at+1, l.rest[:n], l.rest[n])
	}
	return l.take(kindNumber, n), nil
}

// digits is the index after the run of digits that begins at i.
func digits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
