package main

import (
	"strconv"

	"github.com/cockroachdb/apd/v3"

	"github.com/b3abf3ee/portcullis/sdk"
)

// knownNames is what a message lists; a test compares it with the switches
// below.
const knownNames = "pi, e, abs, avg, ceil, exp, floor, ln, log10, max, min, round, sqrt, sum, trunc"

const anyNumber = maxExpression // arguments: the length of the text is the bound

// builtin is one function: how many arguments it takes and what it does.
type builtin struct {
	least, most int
	run         runner
}

// counts says the number of arguments in words.
func (b builtin) counts() string {
	switch {
	case b.most == anyNumber:
		return "one argument or more"
	case b.least == b.most:
		return strconv.Itoa(b.least) + " argument"
	}
	return strconv.Itoa(b.least) + " or " + strconv.Itoa(b.most) + " arguments"
}

// constant finds a named number, to 120 digits.
func constant(name string) (*apd.Decimal, bool) {
	var digits string
	switch name {
	case "pi":
		digits = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328230665"
	case "e":
		digits = "2.71828182845904523536028747135266249775724709369995957496696762772407663035354759457138217852516642742746639193200305992"
	default:
		return nil, false
	}
	d, _, err := apd.NewFromString(digits)
	return d, err == nil
}

// function finds a function. Rounding is half away from zero, as in commerce;
// it is the one place where a person asked for digits to go.
func function(name string) (builtin, bool) {
	switch name {
	case "abs":
		return builtin{1, 1, simple((*apd.Context).Abs)}, true
	case "sqrt":
		return builtin{1, 1, squareRoot}, true
	case "exp":
		return builtin{1, 1, exponent}, true
	case "ln":
		return builtin{1, 1, logarithm((*apd.Context).Ln)}, true
	case "log10":
		return builtin{1, 1, logarithm((*apd.Context).Log10)}, true
	case "min":
		return builtin{1, anyNumber, pick(-1)}, true
	case "max":
		return builtin{1, anyNumber, pick(+1)}, true
	case "sum":
		return builtin{1, anyNumber, total}, true
	case "avg":
		return builtin{1, anyNumber, average}, true
	case "round":
		return builtin{1, 2, toPlaces(apd.RoundHalfUp)}, true
	case "trunc":
		return builtin{1, 2, toPlaces(apd.RoundDown)}, true
	case "floor":
		return builtin{1, 2, toPlaces(apd.RoundFloor)}, true
	case "ceil":
		return builtin{1, 2, toPlaces(apd.RoundCeiling)}, true
	}
	return builtin{}, false
}

type (
	runner    = func(e *evaluation, args []*apd.Decimal) (*apd.Decimal, error)
	operation = func(c *apd.Context, d, x *apd.Decimal) (apd.Condition, error) // a method of apd
)

// simple adapts an operation of apd on one number.
func simple(f operation) runner {
	return func(e *evaluation, args []*apd.Decimal) (*apd.Decimal, error) {
		d := new(apd.Decimal)
		return d, e.note(f(e.arith, d, args[0]))
	}
}

func squareRoot(e *evaluation, args []*apd.Decimal) (*apd.Decimal, error) {
	if args[0].Negative && !args[0].IsZero() {
		return nil, sdk.Errorf(sdk.Invalid, "a negative number has no real square root")
	}
	if err := e.spend(1); err != nil {
		return nil, err
	}
	return simple((*apd.Context).Sqrt)(e, args)
}

// pick is the least (-1) or the greatest (+1) of the arguments.
func pick(sign int) runner {
	return func(_ *evaluation, args []*apd.Decimal) (*apd.Decimal, error) {
		best := args[0]
		for _, a := range args[1:] {
			if a.Cmp(best)*sign > 0 {
				best = a
			}
		}
		return best, nil
	}
}

func total(e *evaluation, args []*apd.Decimal) (*apd.Decimal, error) {
	d := new(apd.Decimal)
	for _, a := range args {
		if err := e.note(e.arith.Add(d, d, a)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func average(e *evaluation, args []*apd.Decimal) (*apd.Decimal, error) {
	d, err := total(e, args)
	if err != nil {
		return nil, err
	}
	return d, e.note(e.arith.Quo(d, d, apd.New(int64(len(args)), 0)))
}

// toPlaces rounds to decimal places, the optional second argument; negative
// places round to tens, hundreds and so on.
func toPlaces(how apd.Rounder) runner {
	return func(_ *evaluation, args []*apd.Decimal) (*apd.Decimal, error) {
		var places int64
		if len(args) == 2 {
			n, err := args[1].Int64()
			if err != nil || n < -maxPrecision || n > maxPrecision {
				return nil, sdk.Errorf(sdk.Invalid, "the places to round to are a whole number from %d to %d", -maxPrecision, maxPrecision)
			}
			places = n
		}
		if int64(args[0].Exponent) >= -places {
			return args[0], nil // nothing beyond those places
		}
		c := apd.Context{
			// Wide enough for every digit in range, so that the only rounding
			// is the one asked for.
			Precision: maxExponent + workDigits, MaxExponent: apd.MaxExponent, MinExponent: apd.MinExponent,
			Rounding: how, Traps: apd.DefaultTraps,
		}
		d := new(apd.Decimal)
		if _, err := c.Quantize(d, args[0], int32(-places)); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "cannot round to %d places: %v", places, err)
		}
		return d, nil
	}
}
