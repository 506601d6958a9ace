package outbox

import "time"

// The pauses between attempts and how many there are.
const (
	firstPause  = 2 * time.Second
	longest     = 15 * time.Minute
	maxAttempts = 8
	// maxAfter bounds a pause that a channel asks for.
	maxAfter = 6 * time.Hour
)

// pause is how long to wait after so many attempts (from 1): it doubles up to a bound, half of it fixed and half random,
// so that what failed together does not come back together. random is in [0, 1). A channel may ask for more.
func pause(attempts int, asked time.Duration, random float64) time.Duration {
	full := firstPause
	for n := 1; n < attempts && full < longest; n++ {
		full *= 2
	}
	full = min(full, longest)
	half := full / 2
	return max(half+time.Duration(random*float64(half)), min(asked, maxAfter))
}
