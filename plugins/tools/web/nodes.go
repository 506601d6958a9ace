package main

import (
	"strings"

	"golang.org/x/net/html"
)

// find is the first node below n, or n, for which is holds, in the order of the
// source.
func find(n *html.Node, is func(*html.Node) bool) *html.Node {
	if is(n) {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := find(c, is); found != nil {
			return found
		}
	}
	return nil
}

// only is the one node for which is holds and that is not inside another such
// node, or nil when there are several.
func only(n *html.Node, is func(*html.Node) bool) *html.Node {
	var found *html.Node
	count := 0
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if is(n) {
			found = n
			count++
			return
		}
		for c := n.FirstChild; c != nil && count < 2; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	if count != 1 {
		return nil
	}
	return found
}

// remove takes every node below n for which is holds out of the tree and
// reports whether there was one.
func remove(n *html.Node, is func(*html.Node) bool) bool {
	removed := false
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if is(c) {
			n.RemoveChild(c)
			removed = true
		} else if remove(c, is) {
			removed = true
		}
		c = next
	}
	return removed
}

// clone copies n and what is below it.
func clone(n *html.Node) *html.Node {
	m := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: n.Attr}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m.AppendChild(clone(c))
	}
	return m
}

// oneLine is all text below n with single spaces.
func oneLine(n *html.Node) string {
	var b strings.Builder
	find(n, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			b.WriteByte(' ')
		}
		return false
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// cut shortens s to n bytes and a mark, at the border of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
