package spelling_test

import (
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/policy/spelling"
)

func TestNearest(t *testing.T) {
	known := []string{"call", "chat", "core", "plugin", "schedules", "net.fetch"}
	for word, want := range map[string]string{
		"cal": "call", "chta": "chat", "cehck": "", "CORE": "core", "plguin": "plugin", "pulgins": "plugin", "shcedule": "schedules",
		"network.fetch": "net.fetch", "core.fetch.of": "", "xy": "", "cola": "", "pluf": "", "": "", strings.Repeat("c", 1<<20): "", "call\xff": "call",
	} {
		if got := spelling.Nearest(word, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
	if got := spelling.Nearest("abc", []string{"abd", "abe", strings.Repeat("a", 65)}); got != "abd" {
		t.Errorf("of two that are as near %q was taken, want the first", got)
	}
	if got := spelling.Within(7, "kernel", []string{strings.Repeat("k", 65), "a"}); got != "a" {
		t.Errorf("Within(7) = %q", got)
	}
}
