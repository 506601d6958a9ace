package approval_test

import (
	"os"
	"strings"
	"testing"
)

// What the worked example of the page shows is what the example prints, line by line.
func TestThePageShowsWhatTheExamplePrints(t *testing.T) {
	page, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, printed, _ := strings.Cut(string(source), "// 0 0\n")
	want := strings.ReplaceAll(strings.TrimSuffix(printed, "}\n"), "\t// ", "    ")
	if strings.Count(want, "\n") < 10 || !strings.Contains(string(page), "\n\n"+want+"\n") {
		t.Errorf("docs/policy.md does not have\n%s", want)
	}
}
