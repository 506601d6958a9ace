package hostile_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The pages name guests, and say how many there are.
func TestThePagesNameTheseGuests(t *testing.T) {
	known, all := map[string]bool{}, 0
	for _, c := range classes() {
		known[c.name] = true
		for _, g := range c.guests {
			if known[g.name] {
				t.Errorf("two guests are called %s", g.name)
			}
			known[g.name] = true
			all++
		}
	}
	for page, heading := range map[string]string{"threat-model.md": "\n## How each promise is tested\n", "conformance.md": "\n## The hostile suite\n"} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		_, part, ok := strings.Cut(string(text), heading)
		if !ok {
			t.Fatalf("%s has no section %q", page, heading)
		}
		part, _, _ = strings.Cut(part, "\n## ")
		if page == "conformance.md" {
			if want := strconv.Itoa(all) + " hostile guests are contained"; !strings.Contains(string(text), want) {
				t.Errorf("%s does not say %q", page, want)
			}
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(part, -1) {
			if !known[m[1]] {
				t.Errorf("%s names the guest %s, which is not there", page, m[1])
			}
		}
	}
}
