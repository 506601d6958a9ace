package main

import (
	"github.com/cockroachdb/apd/v3"

	"github.com/b3abf3ee/portcullis/sdk"
)

// farthest is where exp leaves the range of numbers, with some to spare.
const farthest = 15_000

// exponential computes e^x as a whole power of e and the series of what is
// left: the series of apd alone takes ten times as long for a large x.
func (e *evaluation) exponential(d, x *apd.Decimal) error {
	if apd.New(farthest, 0).Cmp(new(apd.Decimal).Abs(x)) < 0 {
		if x.Negative {
			return tooSmall()
		}
		return tooLarge()
	}
	var whole, part apd.Decimal
	x.Modf(&whole, &part)
	if err := e.note(e.series.Exp(d, &part)); err != nil || whole.IsZero() {
		return err
	}
	base, _ := constant("e")
	if err := e.note(e.arith.Pow(base, base, &whole)); err != nil {
		return err
	}
	e.rounded = true
	return e.note(e.series.Mul(d, d, base))
}

// raiseBySeries computes base^exponent as e^(exponent ln base). A negative base
// has a whole exponent here, which decides the sign.
func (e *evaluation) raiseBySeries(d, base, exponent *apd.Decimal) error {
	if base.IsZero() {
		return nil // d is zero
	}
	if err := e.spend(int(e.series.Precision)); err != nil {
		return err
	}
	var log apd.Decimal
	if err := e.note(e.series.Ln(&log, new(apd.Decimal).Abs(base))); err != nil {
		return err
	}
	if err := e.note(e.series.Mul(&log, &log, exponent)); err != nil {
		return err
	}
	if err := e.exponential(d, &log); err != nil {
		return err
	}
	d.Negative = base.Negative && odd(exponent)
	return nil
}

// odd is for a whole number.
func odd(n *apd.Decimal) bool {
	var half apd.Decimal
	half.Set(n)
	half.Reduce(&half)
	return half.Exponent == 0 && half.Coeff.Bit(0) == 1
}

// exponent is the function exp.
func exponent(e *evaluation, args []*apd.Decimal) (*apd.Decimal, error) {
	if err := e.spend(int(e.series.Precision)); err != nil {
		return nil, err
	}
	d := new(apd.Decimal)
	return d, e.exponential(d, args[0])
}

// logarithm is ln or log10.
func logarithm(f operation) runner {
	return func(e *evaluation, args []*apd.Decimal) (*apd.Decimal, error) {
		if args[0].Sign() <= 0 {
			return nil, sdk.Errorf(sdk.Invalid, "only a number above zero has a logarithm")
		}
		if err := e.spend(int(e.series.Precision)); err != nil {
			return nil, err
		}
		d := new(apd.Decimal)
		return d, e.note(f(e.series, d, args[0]))
	}
}
