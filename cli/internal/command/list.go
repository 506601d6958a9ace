package command

import (
	"context"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// listing is one command that lists what a home keeps, newest first. All of them page alike: --limit rows from --skip on,
// and a note, or "more" in the document, when the list goes on.
type listing[T any] struct {
	name   string // of the list in the document
	none   string // what is said when there is nothing at all
	most   int    // the most that one page may have
	find   func(ctx context.Context, r *app.Records, skip, n int) ([]T, error)
	answer func(T) any // one element of the document
	head   []string
	row    func(T) []any
	note   string // said behind the table, where there is something to say
}

// maxSkip bounds how far a listing is gone through; the stores go no further.
const maxSkip = 100_000

// listFlags are the flags of every listing, in front of its own.
func listFlags(standard int, own ...cli.Flag) []cli.Flag {
	return append(own, limitFlag(standard), &cli.StringFlag{Name: "skip", Usage: "leave out the first `N`, to go on where a list ended", DefaultText: "0"})
}

// show runs a listing.
func (l listing[T]) show(s *shell, c *cli.Context) error {
	if _, err := operands(c); err != nil {
		return err
	}
	part, err := pageOf(c, l.most)
	if err != nil {
		return err
	}
	return s.records(c, func(ctx context.Context, r *app.Records) error {
		found, err := l.find(ctx, r, part.skip, part.reach())
		if err != nil {
			return err
		}
		shown, more := pick(part, found)
		answers, rows := []any{}, [][]any{}
		for _, one := range shown {
			answers, rows = append(answers, l.answer(one)), append(rows, l.row(one))
		}
		return s.out.Answer(map[string]any{l.name: answers, "more": more}, func(t *console.Text) {
			switch {
			case len(rows) > 0:
				t.Table(l.head, rows)
			case part.skip > 0:
				t.Say("there are no more than %d", part.skip)
			default:
				t.Say("%s", console.Command(l.none))
			}
			part.sayMore(s.out.Err(), more)
			if l.note != "" {
				s.out.Err().Say("%s", console.Dim(l.note))
			}
		})
	})
}

// page is the part of a list that is shown.
type page struct{ skip, limit int }

// pageOf reads --skip and --limit.
func pageOf(c *cli.Context, most int) (p page, err error) {
	if p.limit, err = limit(c, most); err != nil {
		return p, err
	}
	p.skip, err = count(c, "skip", 0, maxSkip)
	return p, err
}

// reach is how many elements have to be looked for: one more than is shown says whether there are more.
func (p page) reach() int { return p.limit + 1 }

// pick is the page of what was found behind what is skipped, and whether the list goes on behind it.
func pick[T any](p page, found []T) (shown []T, more bool) {
	return found[:min(p.limit, len(found))], len(found) > p.limit
}

func (p page) sayMore(notes *console.Text, more bool) {
	next, goes := p.next()
	switch {
	case !more:
	case goes:
		notes.Say("%s", console.Dim("there are more: --skip "+strconv.Itoa(next)+" goes on"))
	default:
		notes.Say("%s", console.Dim("there are more, but --skip goes no further than "+strconv.Itoa(maxSkip)))
	}
}

// next is the --skip of the next page; false when none goes as far.
func (p page) next() (int, bool) { return p.skip + p.limit, p.skip+p.limit <= maxSkip }

// limitFlag is how many rows a listing shows.
func limitFlag(standard int) cli.Flag {
	return &cli.StringFlag{Name: "limit", Usage: "show at most `N`", Value: strconv.Itoa(standard), DefaultText: strconv.Itoa(standard)}
}

// limit reads it.
func limit(c *cli.Context, most int) (int, error) { return count(c, "limit", 1, most) }

// count reads a flag that is a whole number.
func count(c *cli.Context, flag string, least, most int) (int, error) {
	text := c.String(flag)
	if text == "" {
		return least, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		p := usage("--%s %q is not a whole number", flag, console.Cut(text, 40))
		p.Remedy = "write --" + flag + "=50"
		return 0, p
	}
	if n < least || n > most {
		p := usage("--%s %d is not between %d and %d", flag, n, least, most)
		p.Remedy = "write --" + flag + "=50"
		return 0, p
	}
	return n, nil
}
