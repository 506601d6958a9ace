package sdk

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

type spoken int

func (spoken) String() string { return "said" }

type plainName string

type broken struct{}

func (*broken) Error() string { panic("nil") }

func TestFormatIsSprintf(t *testing.T) {
	var none *broken
	args := []any{
		"text", "é😀", "", "q\"b", plainName("named"), 0, -7, int8(-3), uint16(9), uint64(math.MaxUint64), int64(math.MinInt64), 'x', true, false,
		1.5, -0.25, 1e21, 1e20, 123456789.0, 1e-5, 0.0001, 1e6, float32(0.1), math.Inf(1), math.NaN(), []byte("raw"),
		errors.New("an error"), spoken(4), time.Second,
		[]string{"a", "b c"},
		[]int{1, 2},
		[]float64{},
		NotFound, nil,
	}
	verbs := []string{"%v", "%s", "%q", "%d", "%x", "%X", "%t", "%c", "%f", "%.2f", "%8.3f", "%e", "%g", "%+d", "%5d", "%-5d|", "%05d", "%08.3f", "%10s", "%-10s|", "%.2s", "%6.1f", "%o", "%b", "%#x", "%+v", "%3c"}
	same := 0
	for _, verb := range verbs {
		for _, arg := range args {
			got, want := format("<"+verb+">", arg), fmt.Sprintf("<"+verb+">", arg)
			switch {
			case got == want:
				same++
			case strings.Contains(want, "%!") && strings.Contains(got, "%!"): // a mistake to both
			case strings.Contains(got, ": use fmt.Sprint)"): // and this says so
			default:
				t.Errorf("%s of %T %v is %s, by fmt %s", verb, arg, arg, got, want)
			}
		}
	}
	if same < 300 {
		t.Errorf("only %d of %d are formatted", same, len(verbs)*len(args))
	}
	for _, c := range []struct {
		text string
		args []any
		want string
	}{
		{"100%% of %s", []any{"it"}, "100% of it"},
		{"%v", []any{none}, "<nil>"},
		{"%d", nil, "%!d(MISSING)"},
		{"%", nil, "%!(NOVERB)"},
		{"x", []any{1}, "x%!(EXTRA 1)"},
		{"%v", []any{struct{ A int }{1}}, "%!v(struct { A int }: use fmt.Sprint)"},
	} {
		if got := format(c.text, c.args...); got != c.want {
			t.Errorf("%q gave %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("a", int64(-3), 1.5, 4, 2)
	f.Add("é\x00\"", int64(math.MaxInt64), 1e21, 12, 0)
	f.Fuzz(func(t *testing.T, s string, n int64, x float64, width, prec int) {
		width, prec = width&31, prec&15
		for _, v := range []struct {
			verb string
			arg  any
		}{
			{"%v", s},
			{"%q", s},
			{"%x", s},
			{fmt.Sprintf("%%%d.%ds", width, prec), s},
			{fmt.Sprintf("%%-%ds", width), s},
			{"%d", n},
			{"%x", n},
			{fmt.Sprintf("%%0%dd", width), n},
			{fmt.Sprintf("%%+%dd", width), n},
			{"%v", uint32(n)},
			{"%v", x},
			{"%v", float32(x)},
			{"%g", x},
			{"%e", x},
			{fmt.Sprintf("%%%d.%df", width, prec), x},
			{fmt.Sprintf("%%0%d.%df", width, prec), x},
		} {
			if got, want := format(v.verb, v.arg), fmt.Sprintf(v.verb, v.arg); got != want {
				t.Errorf("%s of %#v is %q, by fmt %q", v.verb, v.arg, got, want)
			}
		}
	})
}

func FuzzValid(f *testing.F) {
	f.Add("a\xff\xfeb\xc0é")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range []string{"", "\uFFFD"} {
			if got, want := valid(s, r), strings.ToValidUTF8(s, r); got != want {
				t.Errorf("%q became %q, want %q", s, got, want)
			}
		}
	})
}
