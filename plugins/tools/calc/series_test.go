package main

import (
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
)

func TestSeries(t *testing.T) {
	p := plugintest.New(t)
	for expression, want := range map[string]string{
		"exp(0)":                  "1",
		"exp(14000)":              "1.326620321137711275937776890335631E+6080",
		"exp(-1.5)":               "0.2231301601484298289332804707640125",
		"exp(1e-6000)":            "1",
		"4^0.5":                   "2",
		"2^0.5":                   "1.414213562373095048801688724209698",
		"0^0.5":                   "0",
		"0^1e10":                  "0",
		"1^1e6000":                "1",
		"(-1)^1e10":               "1",
		"(-1)^(1e10+1)":           "-1",
		"1e6000^0.0001":           "3.981071705534972507702523050877520",
		"1.0000000000001^1e12":    "1.105170918075642098957117448634328",
		"(-1.0000000000001)^1e12": "1.105170918075642098957117448634328",
	} {
		out := plugintest.Call[EvalOut](t, p, "calc.eval", EvalIn{Expression: expression})
		if decimal(t, out.Result).Cmp(decimal(t, want)) != 0 {
			t.Errorf("%s gave %+v, want %s", expression, out, want)
		}
	}
	for expression, code := range map[string]sdk.Code{
		"exp(1e6000)": sdk.TooLarge, "exp(-1e6000)": sdk.TooLarge, "exp(14200)": sdk.TooLarge, "1.1^1e7": sdk.TooLarge, "0.9^1e7": sdk.TooLarge,
		"(-2)^0.5": sdk.Invalid, "0^-0.5": sdk.Invalid,
	} {
		if f := p.Fault(t, "calc.eval", quoted(t, EvalIn{Expression: expression})); f.Code != code {
			t.Errorf("%s gave %v, want %s", expression, f, code)
		}
	}
}

// Our exponential and the series of apd, which is slow and of another make,
// agree in every digit that is shown.
func TestExponentialAgreesWithApd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := apd.New(rapid.Int64Range(-2_000_000, 2_000_000).Draw(t, "thousandths"), -3)
		e := newEvaluation(inexactDigits)
		got := new(apd.Decimal)
		if err := e.exponential(got, x); err != nil {
			t.Fatal(err)
		}
		want := new(apd.Decimal)
		if _, err := e.arith.WithPrecision(60).Exp(want, x); err != nil {
			t.Fatal(err)
		}
		off := new(apd.Decimal)
		if _, err := e.arith.Sub(off, got, want); err != nil {
			t.Fatal(err)
		}
		if _, err := e.arith.Quo(off, off, want); err != nil {
			t.Fatal(err)
		}
		if off.Abs(off).Cmp(apd.New(1, -inexactDigits-5)) > 0 {
			t.Fatalf("exp(%s) is %s, apd says %s", x, got, want)
		}
	})
}
