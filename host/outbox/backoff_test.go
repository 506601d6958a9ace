package outbox

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever is drawn, a pause is between half of its bound and the bound, the bound doubles to a limit, and a channel that
// asks for more gets it, within reason.
func TestPausesAreHalfFixedAndHalfRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, random := rapid.IntRange(1, 40).Draw(t, "attempts"), rapid.Float64Range(0, 0.999999).Draw(t, "random")
		full := min(time.Duration(float64(firstPause)*float64(int64(1)<<min(n-1, 30))), longest)
		if got := pause(n, 0, random); got < full/2 || got >= full {
			t.Fatalf("pause(%d, %v) = %s, bound %s", n, random, got, full)
		}
		asked := time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "asked"))
		if got := pause(n, asked, random); got < min(asked, maxAfter) || got > max(full, maxAfter) {
			t.Fatalf("pause(%d, %s) = %s", n, asked, got)
		}
	})
}
