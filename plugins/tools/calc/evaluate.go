package main

import (
	"context"

	"github.com/cockroachdb/apd/v3"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	// workDigits is what every number has at most, written, on the way or as a
	// result: the most that a precision can ask for, and room for what rounding
	// eats on the way.
	workDigits = 120
	// maxExponent bounds numbers to about 10^±6144, the range of IEEE 754
	// decimal128, so that no sum needs more than a few kilobytes.
	maxExponent = 6144
	// budget bounds the operations that iterate. A logarithm, an exponential
	// and a power with a fraction are series, and cost the digits they are
	// computed to: a hundred milliseconds each in a guest, and more for many
	// digits. Roots and powers with a small whole exponent cost 1.
	budget = 1000
	// guardDigits is what a series is computed to beyond the digits shown.
	guardDigits = 16
	// smallPower is the largest exponent that counts as small.
	smallPower = 1_000_000
)

// evaluation is the state of one call: the arithmetic of every step, the one of
// series, what was rounded, and what was spent of the budget.
type evaluation struct {
	arith   *apd.Context
	series  *apd.Context
	rounded bool
	spent   int
}

// newEvaluation is for a result of so many digits, if it has no end.
func newEvaluation(digits int) *evaluation {
	arith := &apd.Context{
		Precision:   workDigits,
		MaxExponent: maxExponent,
		MinExponent: -maxExponent,
		Rounding:    apd.RoundHalfEven,
		Traps:       apd.DefaultTraps,
	}
	return &evaluation{arith: arith, series: arith.WithPrecision(uint32(digits + guardDigits))}
}

// value computes n. Cancelling ctx ends it between two operations.
func (e *evaluation) value(ctx context.Context, n *node) (*apd.Decimal, error) {
	if n.op == opNumber {
		return e.number(n)
	}
	args := make([]*apd.Decimal, len(n.args))
	for i, a := range n.args {
		v, err := e.value(ctx, a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := e.apply(n, args)
	if err != nil {
		return nil, err
	}
	return d, inRange(d)
}

func (e *evaluation) number(n *node) (*apd.Decimal, error) {
	if _, named := constant(n.text); named {
		e.rounded = true // pi and e have no end
	}
	return new(apd.Decimal).Set(n.value), nil
}

func (e *evaluation) apply(n *node, args []*apd.Decimal) (*apd.Decimal, error) {
	d := new(apd.Decimal)
	switch n.op {
	case opNegate:
		return d, e.note(e.arith.Neg(d, args[0]))
	case '+':
		return d, e.note(e.arith.Add(d, args[0], args[1]))
	case '-':
		return d, e.note(e.arith.Sub(d, args[0], args[1]))
	case '*':
		return d, e.note(e.arith.Mul(d, args[0], args[1]))
	case '/':
		if args[1].IsZero() {
			return nil, sdk.Errorf(sdk.Invalid, "division by zero in %s", clip(n.String()))
		}
		return d, e.note(e.arith.Quo(d, args[0], args[1]))
	case '%':
		return d, e.remainder(d, n, args)
	case '^':
		return d, e.raise(d, n, args)
	}
	f, _ := function(n.text)
	return f.run(e, args)
}

// remainder has the sign of the dividend: -7 % 3 is -1.
func (e *evaluation) remainder(d *apd.Decimal, n *node, args []*apd.Decimal) error {
	if args[1].IsZero() {
		return sdk.Errorf(sdk.Invalid, "division by zero in %s", clip(n.String()))
	}
	cond, err := e.arith.Rem(d, args[0], args[1])
	if cond&apd.DivisionImpossible != 0 {
		return sdk.Errorf(sdk.TooLarge, "the quotient in %s has more than %d digits", clip(n.String()), workDigits)
	}
	return e.note(cond, err)
}

// raise computes powers; a whole exponent is exact while the digits suffice.
func (e *evaluation) raise(d *apd.Decimal, n *node, args []*apd.Decimal) error {
	base, exponent := args[0], args[1]
	var part apd.Decimal
	exponent.Modf(nil, &part)
	switch {
	case exponent.IsZero():
		d.SetInt64(1) // 0^0 too, as in every programming language
		return nil
	case base.IsZero() && exponent.Negative:
		return sdk.Errorf(sdk.Invalid, "division by zero in %s", clip(n.String()))
	case base.Negative && !base.IsZero() && !part.IsZero():
		return sdk.Errorf(sdk.Invalid, "%s: a negative number has no real power with a fraction", clip(n.String()))
	}
	if part.IsZero() && apd.New(smallPower, 0).Cmp(new(apd.Decimal).Abs(exponent)) >= 0 {
		if err := e.spend(1); err != nil {
			return err
		}
		return e.note(e.arith.Pow(d, base, exponent))
	}
	return e.raiseBySeries(d, base, exponent)
}

// spend takes the cost of one operation from the budget.
func (e *evaluation) spend(cost int) error {
	e.spent += cost
	if e.spent > budget {
		return sdk.Errorf(sdk.TooLarge, "too many powers, roots and logarithms in one expression; %d logarithms are possible with these digits", budget/int(e.series.Precision))
	}
	return nil
}

// note turns what apd reports into the rounded mark or a fault.
func (e *evaluation) note(cond apd.Condition, err error) error {
	if cond.Inexact() {
		e.rounded = true
	}
	switch {
	case err == nil:
		return nil
	case cond.Overflow() || cond.SystemOverflow():
		return tooLarge()
	case cond.Underflow() || cond.SystemUnderflow() || cond.Subnormal():
		return tooSmall()
	}
	return sdk.Errorf(sdk.Invalid, "the result is not a number: %v", err)
}

// inRange refuses what apd accepts beyond the bounds of this plugin: it checks
// some operations only against bounds of its own.
func inRange(d *apd.Decimal) error {
	if d.Form != apd.Finite {
		return sdk.Errorf(sdk.Invalid, "the result is not a number")
	}
	if d.IsZero() {
		return nil
	}
	switch magnitude := int64(d.Exponent) + d.NumDigits() - 1; {
	case magnitude > maxExponent:
		return tooLarge()
	case magnitude < -maxExponent:
		return tooSmall()
	}
	return nil
}

func tooLarge() error {
	return sdk.Errorf(sdk.TooLarge, "a number on the way is beyond 10^%d", maxExponent)
}

func tooSmall() error {
	return sdk.Errorf(sdk.TooLarge, "a number on the way is nearer to zero than 10^-%d", maxExponent)
}
