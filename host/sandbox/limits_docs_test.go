package sandbox

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// The threat model names every bound with the amount that the code has and the test that holds it.
func TestTheThreatModelHasTheBounds(t *testing.T) {
	page, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	usual := LimitsOf(wire.Limits{})
	engine, err := (Config{}).filled()
	if err != nil {
		t.Fatal(err)
	}
	size := func(n int64) string {
		for shift, unit := range map[int]string{30: "GiB", 20: "MiB", 10: "KiB"} {
			if n >= 1<<shift && n < 1<<(shift+10) && n%(1<<shift) == 0 {
				return fmt.Sprintf("%d %s", n>>shift, unit)
			}
		}
		return fmt.Sprint(n)
	}
	_, table, _ := strings.Cut(string(page), "\n## What is bounded\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for what, amount := range map[string]string{
		"wall time, waiting for a slot included": fmt.Sprintf("%.0f s", usual.Deadline.Seconds()),
		"native stack":                           size(maxStack),
		"memory and blocks of a call":            size(usual.Memory),
		"memory of all calls together":           size(engine.TotalMemoryBytes),
		"blocks alive at once":                   fmt.Sprint(maxBlocks),
		"entries of all tables":                  fmt.Sprint(wasmbin.DefaultLimits().TableEntries),
		"calls at once":                          fmt.Sprint(engine.MaxCalls),
		"calls of one plugin at once":            fmt.Sprint(engine.PluginCalls),
		"input":                                  size(usual.Input),
		"output":                                 size(usual.Output),
		"host calls":                             fmt.Sprint(usual.HostCalls),
		"time of one call of a port":             fmt.Sprintf("%d ms or a tenth less than the call's", hostMargin.Milliseconds()),
		"a port that ignores its end":            fmt.Sprintf("%d ms", engine.Grace.Milliseconds()),
		"one reply of the host":                  size(wire.MaxBodyBytes) + ", within the memory of the call",
		"HTTP requests":                          fmt.Sprint(usual.HTTPCalls),
		"HTTP response bytes":                    size(usual.HTTPBytes),
		"file bytes, read and written":           size(usual.FileBytes),
		"one page of a listing":                  fmt.Sprint(wire.MaxListEntries),
		"values, read and written in a call":     size(maxKVBytes),
		"bytes signed in a call":                 size(maxSigned),
		"values kept for a plugin and principal": size(wire.MaxKVTotal),
		"log lines and progress":                 fmt.Sprint(usual.LogLines),
		"log bytes":                              size(maxLogTotal),
		"progress":                               fmt.Sprintf("one each %d ms", progressEvery.Milliseconds()),
		"stderr":                                 size(maxStderr),
		"words of a failure":                     size(maxErrorText),
		"random bytes, by either way":            size(maxRandomTotal),
		"buffers of one WASI call":               fmt.Sprint(maxIovecs),
		"subscriptions of one poll":              fmt.Sprint(maxSubscriptions),
	} {
		if row := "\n| " + what + " | " + amount + " | "; !strings.Contains(table, row) {
			t.Errorf("docs/threat-model.md needs a row that begins with %s", row)
		}
	}
	var sources strings.Builder
	for _, dir := range []string{".", "../../store/storetest", "../../store/memory", "../../store/sqlite"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(text)
		}
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|") // with an empty one before and after
		if len(cells) != 7 || !strings.Contains(cells[5], "`") {
			continue
		}
		rows++
		if test := strings.Trim(cells[5], "` "); !strings.Contains(sources.String(), "\nfunc "+test+"(") {
			t.Errorf("docs/threat-model.md names %s, which is no test", test)
		}
	}
	if rows < 30 {
		t.Errorf("docs/threat-model.md has %d bounds with a test", rows)
	}
}

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
