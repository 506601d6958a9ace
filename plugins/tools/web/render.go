package main

import (
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/b3abf3ee/portcullis/sdk"
)

// markdown renders the content with absolute links. Nothing is escaped: who
// reads it is a model and no renderer, and the library's search for what to
// escape is quadratic. Cells of tables are not padded: one wide cell would widen
// every row.
func (p *page) markdown(whole bool) (string, error) {
	if p.tags > maxRendered {
		return "", sdk.Errorf(sdk.TooLarge, "the page has %d tags, at most %d are made markdown; ask for it with format text", p.tags, maxRendered)
	}
	root := p.content(whole)
	tame(root)
	c := converter.NewConverter(
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(
			base.NewBasePlugin(),
			commonmark.NewCommonmarkPlugin(),
			strikethrough.NewStrikethroughPlugin(),
			table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithSkipEmptyRows(true)),
		),
	)
	text, err := c.ConvertNode(root, converter.WithDomain(p.base.String()))
	if err != nil {
		return "", sdk.Errorf(sdk.Failed, "the page cannot be converted: %v; ask for it as text or html", err)
	}
	return string(text), nil
}

// text renders the words alone: a line for each block, an empty line between
// paragraphs, preformatted text as it is.
func (p *page) text(whole bool) string {
	var w textWriter
	w.node(p.content(whole), false)
	return strings.TrimSpace(w.b.String())
}

// textWriter collects text; breaks are written when something follows them.
type textWriter struct {
	b      strings.Builder
	breaks int  // line breaks wanted before what comes next
	space  bool // a space wanted there
}

func (w *textWriter) node(n *html.Node, pre bool) {
	if n.Type == html.TextNode {
		w.words(n.Data, pre)
		return
	}
	lines := linesAround(n.DataAtom)
	w.breaks = max(w.breaks, lines)
	if n.DataAtom == atom.Br {
		w.breaks++
	}
	switch {
	case n.DataAtom == atom.Li:
		w.words("- ", true)
	case isCell(n) && n.PrevSibling != nil && w.breaks == 0:
		w.words("\t", true)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c, pre || n.DataAtom == atom.Pre)
	}
	w.breaks = max(w.breaks, lines)
}

// words writes text; outside of preformatted text every run of spaces is one.
func (w *textWriter) words(s string, pre bool) {
	if pre {
		if s != "" {
			w.flush()
			w.b.WriteString(s)
		}
		return
	}
	for i, word := range strings.Fields(s) {
		if i > 0 || startsWithSpace(s) {
			w.space = true
		}
		w.flush()
		w.b.WriteString(word)
	}
	if s != "" && startsWithSpace(s[len(s)-1:]) {
		w.space = true
	}
}

func (w *textWriter) flush() {
	switch {
	case w.b.Len() == 0:
	case w.breaks > 0:
		w.b.WriteString("\n\n"[:min(w.breaks, 2)])
	case w.space:
		w.b.WriteByte(' ')
	}
	w.breaks, w.space = 0, false
}

func startsWithSpace(s string) bool { return s != "" && strings.IndexByte(" \t\r\n\f", s[0]) >= 0 }

func isCell(n *html.Node) bool { return n.DataAtom == atom.Td || n.DataAtom == atom.Th }

// linesAround is how many line breaks an element has before and after it.
func linesAround(a atom.Atom) int {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Pre, atom.Blockquote,
		atom.Table, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside, atom.Figure, atom.Hr, atom.Form, atom.Fieldset:
		return 2
	case atom.Div, atom.Li, atom.Dt, atom.Dd, atom.Tr, atom.Figcaption, atom.Caption, atom.Address, atom.Details, atom.Summary:
		return 1
	}
	return 0
}
