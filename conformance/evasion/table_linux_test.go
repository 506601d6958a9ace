package evasion_test

import (
	"slices"
	"testing"
)

// row is one attempt. Its class is the known fault it is made after: the F classes are faults that hosts and agents had in
// public, the A and P classes complaints about approval and permission from their trackers.
type row struct {
	class string
	name  string
	try   func(x *attempt)
}

// due is how many rows the table has; a row that is taken out is missed.
const due = 120

func table() []row {
	return slices.Concat(shellRows(), wrapperRows(), environmentRows(), operandRows(), reachRows(), definitionRows(), deciderRows(), durableRows(), screenRows(), longRows())
}

// TestEvasions tries every row through the whole gate. Each must come to a verdict, and to the one that stops it.
func TestEvasions(t *testing.T) {
	bin := programs(t)
	rows, seen, stopped := table(), map[string]bool{}, 0
	classes := map[string]int{}
	for _, r := range rows {
		name := r.class + " " + r.name
		if seen[name] || r.class == "" || r.name == "" {
			t.Errorf("%q is no row of its own", name)
		}
		seen[name] = true
		held := 0
		if t.Run(name, func(t *testing.T) {
			x := newAttempt(t, bin)
			r.try(x)
			if held = x.held; held == 0 {
				t.Error("the row came to no verdict")
			}
		}) && held > 0 {
			stopped++
			classes[r.class]++
		}
	}
	t.Logf("approval: %d of %d evasions refused or asked about again, by class %v", stopped, len(rows), classes)
	if len(rows) != due {
		t.Errorf("the table has %d rows, %d are due", len(rows), due)
	}
}
