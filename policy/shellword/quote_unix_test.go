//go:build unix

package shellword

import (
	"os/exec"
	"testing"
)

// A real shell reads back what was quoted. Every Unix has sh.
func TestAShellReadsItBack(t *testing.T) {
	for _, in := range []string{"", "a b", "it's", "`id`", "$(id)", "a\nb", "*", "[a]", "~", "!", "\\", "#x", "ä ö"} {
		out, err := exec.Command("sh", "-c", "printf %s "+Quote(in)).Output()
		if err != nil || string(out) != in {
			t.Errorf("sh reads %s as %q, want %q (%v)", Quote(in), out, in, err)
		}
	}
}
