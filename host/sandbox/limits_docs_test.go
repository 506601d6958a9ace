package sandbox

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// The table of the guide for authors has what is usual and what is the most, in its own units.
func TestTheGuideHasTheLimits(t *testing.T) {
	page, err := os.ReadFile("../../docs/writing-a-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	const most = math.MaxInt64
	usual, hard := LimitsOf(wire.Limits{}), LimitsOf(wire.Limits{
		MemoryBytes: most, DeadlineMS: most, InputBytes: most, OutputBytes: most, HostCalls: most, HTTPCalls: most, HTTPBytes: most, FileBytes: most, LogLines: most,
	})
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	seconds := func(l Limits) string { return fmt.Sprintf("%.0f s", l.Deadline.Seconds()) }
	cells := map[string][2]string{
		"MemoryBytes": {mib(usual.Memory), mib(hard.Memory)},
		"DeadlineMS":  {seconds(usual), seconds(hard)},
		"InputBytes":  {mib(usual.Input), mib(hard.Input)},
		"OutputBytes": {mib(usual.Output), mib(hard.Output)},
		"HostCalls":   {fmt.Sprint(usual.HostCalls), fmt.Sprint(hard.HostCalls)},
		"HTTPCalls":   {fmt.Sprint(usual.HTTPCalls), fmt.Sprint(hard.HTTPCalls)},
		"HTTPBytes":   {mib(usual.HTTPBytes), mib(hard.HTTPBytes)},
		"FileBytes":   {mib(usual.FileBytes), mib(hard.FileBytes)},
		"LogLines":    {fmt.Sprint(usual.LogLines), fmt.Sprint(hard.LogLines)},
	}
	for f := range reflect.TypeFor[wire.Limits]().Fields() {
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		start := fmt.Sprintf("| `%s` | `%s` | ", f.Name, member)
		_, row, ok := strings.Cut(string(page), "\n"+start)
		row, _, _ = strings.Cut(row, "\n")
		if end := fmt.Sprintf(" | %s | %s |", cells[f.Name][0], cells[f.Name][1]); !ok || !strings.HasSuffix(row, end) {
			t.Errorf("docs/writing-a-plugin.md needs the row %s…%s and has %q", start, end, row)
		}
	}
}
