package main

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
)

func TestEvalIsExactInDecimal(t *testing.T) {
	p := plugintest.New(t)
	if got := string(p.Call(t, "calc.eval", `{"expression":"0.1+0.2"}`)); got != `{"result":"0.3"}` {
		t.Fatalf("0.1+0.2 gave %s", got)
	}
	for expression, want := range map[string]string{
		"1.50+1.50":              "3",
		"19.99*3*1.19":           "71.3643",
		"100":                    "100",
		"-0":                     "0",
		"0*-1":                   "0",
		".5 + 5.":                "5.5",
		"1e3":                    "1000",
		"2^200":                  "1606938044258990275541962092341162602522202993782792835301376",
		"1e50-1":                 strings.Repeat("9", 50),
		"10^6144":                "1E+6144",
		"1e-130":                 "1E-130",
		"2^-2":                   "0.25",
		"2**3":                   "8",
		"2^3^2":                  "512",
		"-2^2":                   "-4",
		"(-2)^2":                 "4",
		"2^-1^2":                 "0.5",
		"0^0":                    "1",
		"10-4-3":                 "3",
		"100/10/2":               "5",
		"2+3*4":                  "14",
		"7%3":                    "1",
		"-7%3":                   "-1",
		"7.5%2":                  "1.5",
		"10^50%7":                "2",
		"--3":                    "3",
		"3 × 4 ÷ 2 − 1":          "5",
		"sqrt(0.25)":             "0.5",
		"abs(-3)":                "3",
		"min(3, 1, 2)":           "1",
		"MAX(3,1,2)":             "3",
		"sum(1,2,3)":             "6",
		"avg(1,2)":               "1.5",
		"round(2.5)":             "3",
		"round(-2.5)":            "-3",
		"round(1.005, 2)":        "1.01",
		"round(123456, -2)":      "123500",
		"trunc(-1.7)":            "-1",
		"floor(-1.2)":            "-2",
		"ceil(1.21, 1)":          "1.3",
		"floor(1e-6000)":         "0",
		"round(1e6000, 100)":     "1E+6000",
		"max(-0, 0)":             "0",
		"((((1))))":              "1",
		"1 + \n\t2":              "3",
		strings.Repeat("9", 120): strings.Repeat("9", 120),
	} {
		out := plugintest.Call[EvalOut](t, p, "calc.eval", EvalIn{Expression: expression})
		if out.Result != want || out.Rounded {
			t.Errorf("%s gave %+v, want exactly %s", expression, out, want)
		}
	}
}

func TestEvalSaysWhenItRounded(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct {
		in   EvalIn
		want string
	}{
		{EvalIn{Expression: "1/3*3"}, "1"},
		{EvalIn{Expression: "1/3", Precision: 5}, "0.33333"},
		{EvalIn{Expression: "123456", Precision: 3}, "1.23E+5"}, // no zeros for lost digits
		{EvalIn{Expression: "2.5", Precision: 1}, "2"},          // half to even
		{EvalIn{Expression: "3.5", Precision: 1}, "4"},
		{EvalIn{Expression: "pi"}, "3.141592653589793238462643383279503"},
		{EvalIn{Expression: "e", Precision: 10}, "2.718281828"},
		{EvalIn{Expression: "sqrt(2)"}, "1.414213562373095048801688724209698"},
		{EvalIn{Expression: "4^0.5"}, "2"},
		{EvalIn{Expression: "ln(e)"}, "1"},
		{EvalIn{Expression: "log10(1000)"}, "3"},
		{EvalIn{Expression: "exp(1)", Precision: 100}, "2.718281828459045235360287471352662497757247093699959574966967627724076630353547594571382178525166427"},
		{EvalIn{Expression: "1e6144+1e-6144"}, "1E+6144"},
	} {
		out := plugintest.Call[EvalOut](t, p, "calc.eval", c.in)
		if !out.Rounded || out.Result != c.want {
			t.Errorf("%+v gave %+v, want %s, rounded", c.in, out, c.want)
		}
	}
}

func TestEvalRefuses(t *testing.T) {
	p := plugintest.New(t)
	for _, c := range []struct {
		expression string
		code       sdk.Code
		says       string
	}{
		{" ", sdk.Invalid, "empty"},
		{"1/0", sdk.Invalid, "division by zero in 1/0"},
		{"5%(1-1)", sdk.Invalid, "division by zero"},
		{"0^-1", sdk.Invalid, "division by zero"},
		{"sqrt(-1)", sdk.Invalid, "square root"},
		{"ln(0)", sdk.Invalid, "logarithm"},
		{"log10(-1)", sdk.Invalid, "logarithm"},
		{"(-8)^(1/3)", sdk.Invalid, "fraction"},
		{"1,000+1", sdk.Invalid, "character 2: a comma"},
		{"sqrt(1,000)", sdk.Invalid, "write 1000.5, not 1,000.5"},
		{"10%", sdk.Invalid, "for per cent write /100"},
		{"(10%)*2", sdk.Invalid, "for per cent write /100"},
		{"2 pi", sdk.Invalid, "character 3"},
		{"2pi", sdk.Invalid, "runs on"},
		{"0x10", sdk.Invalid, "runs on"},
		{"1.2.3", sdk.Invalid, "runs on"},
		{"1_000", sdk.Invalid, "runs on"},
		{".", sdk.Invalid, "dot"},
		{"1+", sdk.Invalid, "character 3: the expression ends"},
		{"(1", sdk.Invalid, "closing bracket"},
		{"1)", sdk.Invalid, "operator"},
		{"()", sdk.Invalid, "a number"},
		{"sqrt 4", sdk.Invalid, "opening bracket after sqrt"},
		{"min()", sdk.Invalid, "a number"},
		{"round(1,2,3)", sdk.Invalid, "1 or 2 arguments, not 3"},
		{"round(1,0.5)", sdk.Invalid, "whole number"},
		{"sin(1)", sdk.Invalid, knownNames},
		{"x=1", sdk.Invalid, "'='"},
		{"√2", sdk.Invalid, "character 1: '√'"},
		{"\x00", sdk.Invalid, "character 1"},
		{"5!", sdk.Invalid, "'!'"},
		{"9^9^9", sdk.TooLarge, "10^6144"},
		{"10^6145", sdk.TooLarge, "10^6144"},
		{"10^-6145", sdk.TooLarge, "10^-6144"},
		{"1e6145", sdk.TooLarge, "10^6144"},
		{"1e99999999999", sdk.Invalid, "range"},
		{"exp(1e6)", sdk.TooLarge, "10^6144"},
		{"exp(-1e6)", sdk.TooLarge, "zero"},
		{"1e6000%3", sdk.TooLarge, "quotient"},
		{strings.Repeat("9", 121), sdk.TooLarge, "121 digits"},
		{strings.Repeat("(", 65) + "1" + strings.Repeat(")", 65), sdk.TooLarge, "64 deep"},
		{strings.Repeat("-", 65) + "1", sdk.TooLarge, "64 deep"},
		{"1" + strings.Repeat("^1", 65), sdk.TooLarge, "64 deep"},
		{"ln(2)" + strings.Repeat("+ln(2)", budget/(inexactDigits+guardDigits)), sdk.TooLarge, "roots and logarithms"},
		{"1^1" + strings.Repeat("+1^1", budget), sdk.TooLarge, "roots and logarithms"},
	} {
		f := p.Fault(t, "calc.eval", quoted(t, EvalIn{Expression: c.expression}))
		if f.Code != c.code || !strings.Contains(f.Message, c.says) {
			t.Errorf("%.60q gave %s %q, want %s with %q", c.expression, f.Code, f.Message, c.code, c.says)
		}
	}
	if f := p.Fault(t, "calc.eval", quoted(t, EvalIn{Expression: strings.Repeat("1", 4097)})); f.Code != sdk.Invalid {
		t.Errorf("an expression longer than the schema allows gave %v", f)
	}
	for _, args := range []string{`{}`, `{"expression":""}`, `{"expression":"1","precision":0}`, `{"expression":"1","precision":101}`, `{"expression":"1","scale":2}`} {
		if f := p.Fault(t, "calc.eval", args); f.Code != sdk.Invalid {
			t.Errorf("%s gave %v, want invalid", args, f)
		}
	}
}

// The handler checks for itself what the schema says, since a host that does
// not validate would otherwise reach apd with no bound.
func TestEvalChecksWithoutTheSchema(t *testing.T) {
	for _, in := range []EvalIn{
		{Expression: strings.Repeat("1+", 2048) + "1"},
		{Expression: "1", Precision: 101},
		{Expression: "1", Precision: -1},
	} {
		if _, err := Eval(t.Context(), in, sdk.Host{}); !errors.Is(err, sdk.TooLarge) && !errors.Is(err, sdk.Invalid) {
			t.Errorf("%.20q with precision %d gave %v", in.Expression, in.Precision, err)
		}
	}
}

func TestEveryListedNameIsKnown(t *testing.T) {
	for name := range strings.SplitSeq(knownNames, ", ") {
		_, isConstant := constant(name)
		f, isFunction := function(name)
		if isConstant == isFunction {
			t.Errorf("%s is listed and is a constant: %v, a function: %v", name, isConstant, isFunction)
		}
		if isFunction && (f.least < 1 || f.most < f.least || f.run == nil) {
			t.Errorf("function %s is %+v", name, f)
		}
		if !strings.Contains(string(plugintest.New(t).Description().Tools[0].InputSchema), name) {
			t.Errorf("%s is not in the description that a model reads", name)
		}
	}
}

// Where no digit was rounded away the value is the one of rational arithmetic.
func TestEvalAgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, want := drawExpression(t, 4)
		out, err := Eval(t.Context(), EvalIn{Expression: text}, sdk.Host{})
		if err != nil {
			if errors.Is(err, sdk.TooLarge) || strings.Contains(err.Error(), "division by zero") && want == nil {
				return
			}
			t.Fatalf("%s: %v", text, err)
		}
		if want == nil {
			t.Fatalf("%s divides by zero and gave %+v", text, out)
		}
		got, ok := new(big.Rat).SetString(out.Result)
		if !ok {
			t.Fatalf("%s gave %q, which is no number", text, out.Result)
		}
		if !out.Rounded && got.Cmp(want) != 0 {
			t.Fatalf("%s gave exactly %s, which is not %s", text, out.Result, want)
		}
		off := got.Sub(got, want)
		if out.Rounded && want.Sign() != 0 && off.Abs(off.Quo(off, want)).Cmp(big.NewRat(1, 1e15)) > 0 {
			t.Fatalf("%s gave %s, further from %s than rounding explains", text, out.Result, want.FloatString(40))
		}
	})
}

// drawExpression makes a bracketed expression and its value, nil for one that
// divides by zero.
func drawExpression(t *rapid.T, depth int) (string, *big.Rat) {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		text := rapid.StringMatching(`[0-9]{1,6}(\.[0-9]{1,4})?`).Draw(t, "number")
		v, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("drew %q", text)
		}
		return text, v
	}
	a, x := drawExpression(t, depth-1)
	b, y := drawExpression(t, depth-1)
	op := rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "op")
	text := "(" + a + op + b + ")"
	if x == nil || y == nil || op == "/" && y.Sign() == 0 {
		return text, nil
	}
	z := new(big.Rat)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "/":
		z.Quo(x, y)
	}
	return text, z
}

// FuzzEval: whatever is accepted prints as text that parses to the same tree
// and has the same value, and no text at all makes the parser panic.
func FuzzEval(f *testing.F) {
	for _, s := range []string{"0.1+0.2", "-2^2", "2^-1^2", "2--3", "(1-2)-(3-4)", "(2^3)^2", "min(1,2)*-pi", "1e5%.3", "((", "1e-7 ** 2", "5%", "−1×2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := parse(text)
		if err != nil {
			if !errors.Is(err, sdk.Invalid) && !errors.Is(err, sdk.TooLarge) {
				t.Fatalf("%q: the refusal %v has no code", text, err)
			}
			return
		}
		printed := tree.String()
		again, err := parse(printed)
		if err != nil {
			t.Fatalf("%q prints as %q, which is refused: %v", text, printed, err)
		}
		if again.String() != printed {
			t.Fatalf("%q prints as %q, and that as %q", text, printed, again)
		}
		first, errFirst := Eval(t.Context(), EvalIn{Expression: text}, sdk.Host{})
		second, errSecond := Eval(t.Context(), EvalIn{Expression: printed}, sdk.Host{})
		if first != second || (errFirst == nil) != (errSecond == nil) {
			t.Fatalf("%q is %v, %v; printed as %q it is %v, %v", text, first, errFirst, printed, second, errSecond)
		}
		if errFirst != nil {
			return
		}
		back, err := Eval(t.Context(), EvalIn{Expression: first.Result}, sdk.Host{})
		if err != nil || decimal(t, back.Result).Cmp(decimal(t, first.Result)) != 0 {
			t.Fatalf("the result %q of %q reads back as %v, %v", first.Result, text, back, err)
		}
	})
}

func decimal(t *testing.T, text string) *apd.Decimal {
	t.Helper()
	d, _, err := apd.NewFromString(text)
	if err != nil {
		t.Fatalf("%q is no decimal: %v", text, err)
	}
	return d
}
