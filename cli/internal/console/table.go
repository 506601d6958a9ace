package console

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table writes rows under headings, without borders, so that columns can be cut with ordinary tools. Cells are
// escaped as arguments of [Text.Say] are. On a terminal a row is cut at its width; elsewhere nothing is cut.
func (t *Text) Table(headings []string, rows [][]any) {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatUpper
	if t.width > 0 {
		style.Size.WidthMax = t.width
		style.Box.UnfinishedRow = "…"
	}
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	head := make(table.Row, len(headings))
	for i, h := range headings {
		head[i] = h
	}
	w.AppendHeader(head)
	for _, r := range rows {
		cells := make(table.Row, len(r))
		for i, c := range r {
			cells[i] = fmt.Sprint(t.value(c))
		}
		w.AppendRow(cells)
	}
	t.write(w.Render() + "\n")
}
