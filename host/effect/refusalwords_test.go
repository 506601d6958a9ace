package effect

import (
	"testing"

	gate "github.com/b3abf3ee/portcullis/host/approval"
)

// A no without a reason is said in words, not as the code that stands for it; one with a reason has the person's words.
func TestADenialIsSaidInWords(t *testing.T) {
	for reason, want := range map[string]string{
		gate.ReasonDenied: "files.write was denied: a person said no",
		"not today":       "files.write was denied: not today",
	} {
		if got := refusalWords(gate.Decision{Reason: reason}, "files.write"); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}
