package command

import (
	"slices"
	"strings"
	"testing"
)

// A page asks for one element more than it shows, which says whether the list goes on.
func TestAPageKnowsWhetherTheListGoesOn(t *testing.T) {
	part := page{skip: 480, limit: 2}
	if part.reach() != 3 {
		t.Errorf("it asks for %d", part.reach())
	}
	for _, c := range []struct {
		found, shown []int
		more         bool
	}{{nil, nil, false}, {[]int{1, 2}, []int{1, 2}, false}, {[]int{1, 2, 3}, []int{1, 2}, true}} {
		if shown, more := pick(part, c.found); !slices.Equal(shown, c.shown) || more != c.more {
			t.Errorf("of %v it shows %v, more %v", c.found, shown, more)
		}
	}
}

// No page tells of a --skip that is refused.
func TestTheNextPageIsOneThatWorks(t *testing.T) {
	for _, c := range []struct {
		part page
		next int
		goes bool
	}{{page{0, 20}, 20, true}, {page{maxSkip - 500, 500}, maxSkip, true}, {page{maxSkip - 499, 500}, 0, false}, {page{maxSkip, 1}, 0, false}} {
		if next, goes := c.part.next(); goes != c.goes || goes && next != c.next {
			t.Errorf("behind %v comes %d, %v", c.part, next, goes)
		}
	}
}

// A list shows what a call would do whole or not at all: beside the id that allows it a part could mislead.
func TestNoListShowsAPartOfAQuestion(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"path":"a.txt"}`:                   `{"path":"a.txt"}`,
		strings.Repeat("x", 40):              strings.Repeat("x", 40),
		strings.Repeat("x", 60) + "; rm -rf": "68 bytes: show it",
	} {
		if got := wholly(arguments); got != want {
			t.Errorf("%q is shown as %q", arguments, got)
		}
	}
}
