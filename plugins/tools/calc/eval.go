package main

import (
	"cmp"
	"context"

	"github.com/cockroachdb/apd/v3"

	"github.com/b3abf3ee/portcullis/sdk"
)

// inexactDigits is what a result without an end is shown with when the caller
// asks for no precision: as IEEE 754 decimal128.
const inexactDigits = 34

// maxPrecision is the most digits that can be asked for, and the most decimal
// places that can be rounded to.
const maxPrecision = 100

// EvalIn is one expression.
type EvalIn struct {
	Expression string `json:"expression" desc:"Arithmetic such as (19.99*3)*1.19 or round(2/3, 4). Operators + - * / % ^ with brackets, constants pi and e, functions abs avg ceil exp floor ln log10 max min round sqrt sum trunc. % is the remainder; write per cent as /100. No thousands separators." minLength:"1" maxLength:"4096"`
	Precision  int    `json:"precision,omitempty" desc:"Significant digits to round the result to. Left out: an exact result is given whole, any other with 34 digits." minimum:"1" maximum:"100"`
}

// EvalOut is its value as decimal text: a JSON number would lose digits.
type EvalOut struct {
	Result  string `json:"result" desc:"The value in decimal, such as 0.3 or 1.5E+200."`
	Rounded bool   `json:"rounded,omitempty" desc:"True when digits were rounded away, here or on the way: the value is not exact."`
}

// Eval computes an expression in decimal arithmetic, so 0.1+0.2 is 0.3. Every
// step keeps 120 digits, those of logarithms and the like 16 more than are shown. The result is rounded once, half to even, to the
// precision asked for; without one an exact result is given whole and any other
// with 34 digits. Faults are invalid (syntax, division by zero, no real
// result) and too_large (length, nesting, range).
func Eval(ctx context.Context, in EvalIn, _ sdk.Host) (EvalOut, error) {
	if in.Precision < 0 || in.Precision > maxPrecision {
		return EvalOut{}, sdk.Errorf(sdk.Invalid, "precision is %d; it is a number of digits from 1 to %d", in.Precision, maxPrecision)
	}
	tree, err := parse(in.Expression)
	if err != nil {
		return EvalOut{}, err
	}
	e := newEvaluation(cmp.Or(in.Precision, inexactDigits))
	d, err := e.value(ctx, tree)
	if err != nil {
		return EvalOut{}, err
	}
	final := *e.arith
	switch {
	case in.Precision != 0:
		final.Precision = uint32(in.Precision)
	case e.rounded:
		final.Precision = inexactDigits
	}
	if err := e.note(final.Round(d, d)); err != nil {
		return EvalOut{}, err
	}
	return EvalOut{Result: format(d, e.rounded), Rounded: e.rounded}, nil
}

// format writes d without trailing zeros, plainly unless that is very long or
// would show zeros for digits that were rounded away. The expression parser
// reads every text that it writes.
func format(d *apd.Decimal, rounded bool) string {
	lost := rounded && d.Exponent > 0
	d.Reduce(d)
	if d.IsZero() {
		return "0"
	}
	// A positive exponent adds zeros at the end, a negative one may need zeros
	// in front.
	length := max(d.NumDigits()+int64(max(d.Exponent, 0)), int64(-d.Exponent))
	if lost || length > workDigits {
		return d.Text('E')
	}
	return d.Text('f')
}
