package main

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of what may be rendered as markdown. Each line of a nested list is
// indented and each row of a table is filled up to the widest, so a page of
// kilobytes could become hundreds of megabytes.
const (
	maxIndent = 12   // lists and quotations inside each other
	maxCells  = 5000 // of one table, rows filled up
	maxSpan   = 50   // columns or rows that one cell may cover
)

// tame turns lists and quotations that are too deep, and tables that are too
// large or inside each other, into plain blocks. Their text stays.
func tame(n *html.Node) { tameAt(n, 0, false) }

func tameAt(n *html.Node, indent int, inTable bool) {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote, atom.Dl:
		if indent++; indent > maxIndent {
			rename(n, atom.Div)
		}
	case atom.Li:
		if indent > maxIndent {
			rename(n, atom.Div)
		}
	case atom.Table:
		if inTable || cells(n) > maxCells {
			flatten(n)
		}
		inTable = true
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		tameAt(c, indent, inTable)
	}
}

func rename(n *html.Node, to atom.Atom) {
	n.DataAtom, n.Data, n.Attr = to, to.String(), nil
}

// flatten makes blocks of the rows of a table, and of tables in it.
func flatten(n *html.Node) {
	switch n.DataAtom {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Caption:
		rename(n, atom.Div)
	case atom.Td, atom.Th:
		rename(n, atom.Span)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		flatten(c)
	}
}

// cells counts what a table has when every row is as wide as the widest.
func cells(table *html.Node) int {
	rows, widest := 0, 0
	find(table, func(n *html.Node) bool {
		if n.DataAtom != atom.Tr {
			return false
		}
		rows++
		width := 0
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if isCell(c) {
				width += span(c)
			}
		}
		widest = max(widest, width)
		return false
	})
	return rows * widest
}

// span is how many columns a cell covers. Attributes beyond the bound, of rows
// too, are dropped.
func span(cell *html.Node) int {
	width := 1
	kept := cell.Attr[:0]
	for _, a := range cell.Attr {
		if a.Key == "colspan" || a.Key == "rowspan" {
			n, err := strconv.Atoi(a.Val)
			if err != nil || n < 1 || n > maxSpan {
				continue
			}
			if a.Key == "colspan" {
				width = n
			}
		}
		kept = append(kept, a)
	}
	cell.Attr = kept
	return width
}
