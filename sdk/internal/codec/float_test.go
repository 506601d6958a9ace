package codec

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// checkFloat holds a number to what strconv reads it as.
func checkFloat(t *testing.T, text string) {
	t.Helper()
	want, err := strconv.ParseFloat(text, 64)
	got, failed := parseFloat(text)
	if (failed == nil) != (err == nil) || err == nil && math.Float64bits(got) != math.Float64bits(want) {
		t.Errorf("%.60s is %v, %v, not %v, %v", text, got, failed, want, err)
	}
}

func TestNumbersAreTheNearestFloats(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "0.0", "-0e9", "0e999999999999", "1", "-1.5", "0.1", "12.75", "0.30000000000000004", "-122.41941550000001",
		"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740993.0000000000000000000001", "18446744073709551615", "18446744073709551616",
		"1e22", "1e23", "8.5e22", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e309", "-1e400",
		"4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072014e-308", "1e-400", "1e-99999999999",
		"3.4028234663852886e38", "3.4028235677973366e38", "3.4028235677973362e38", "1.1754943508222875e-38", "7.006492321624085e-46", "7.0064923216240854e-46", "1.401298464324817e-45",
		"1.000000059604644775390625", "1.000000059604644775390624", "1.000000059604644775390626", "16777217", "16777217.0000001",
		"0." + strings.Repeat("0", 400) + "1e400", strings.Repeat("9", 400), strings.Repeat("9", 300) + "." + strings.Repeat("9", 3000),
		"1" + strings.Repeat("0", 900) + "e-900", "1." + strings.Repeat("0", 900) + "1", "9007199254740993." + strings.Repeat("0", 900) + "1",
		"9007199254740993" + strings.Repeat("0", 900) + "e-900", "1" + strings.Repeat("0", 900) + "1e-901", "0.5" + strings.Repeat("0", 2000) + "e1",
	} {
		checkFloat(t, text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		checkFloat(t, strconv.FormatFloat(f, 'e', -1, 64))
		checkFloat(t, strconv.FormatFloat(f, 'e', r.IntN(25), 64))
		checkFloat(t, strconv.FormatFloat(float64(float32(r.NormFloat64())), 'f', -1, 64))
		checkFloat(t, strconv.FormatFloat(r.NormFloat64()*1000, 'f', -1, 64))
		half := uint64(r.Uint32())<<22 | 1<<53 | 1 // between two floats
		checkFloat(t, strconv.FormatUint(half, 10)+"."+strings.Repeat("0", r.IntN(30))+strconv.Itoa(r.IntN(2)))
	}
}

// FuzzNumbers: every JSON number is what strconv reads.
func FuzzNumbers(f *testing.F) {
	f.Add("1e23")
	f.Add("-0.30000000000000004")
	f.Add("179769313486231580793e288")
	f.Fuzz(func(t *testing.T, text string) {
		if ValidNumber(text) {
			checkFloat(t, text)
		}
	})
}
