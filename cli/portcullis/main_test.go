package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// On a machine without data of time zones, a core with a schedule in any zone but UTC would not load: the program brings
// the data along.
func TestTheProgramKnowsEveryTimeZone(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(out)), "time/tzdata") {
		t.Error("time/tzdata is not linked")
	}
}
