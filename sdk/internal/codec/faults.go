package codec

import (
	"strconv"
	"strings"
)

// maxFaults bounds what is told about one type: more would not be read.
const maxFaults = 20

// Faults is what is wrong with a type, one sentence each. Those of a field begin
// with its type and name.
type Faults []string

// Error joins what [Faults.Told] gives.
func (f Faults) Error() string { return strings.Join(f.Told(), "; ") }

// Told is the faults without repetition, at most twenty and how many more there are.
func (f Faults) Told() []string {
	var told []string
	for i, fault := range f {
		if !f[:i].has(fault) {
			told = append(told, fault)
		}
	}
	if more := len(told) - maxFaults; more > 0 {
		told = append(told[:maxFaults], "and "+strconv.Itoa(more)+" more")
	}
	return told
}

func (f Faults) has(fault string) bool {
	for _, have := range f {
		if have == fault {
			return true
		}
	}
	return false
}

// Within says where the faults from index from on are. A type without faults
// pays nothing for words about where it is.
func (f Faults) Within(from int, where string) {
	for i := range f[from:] {
		f[from+i] = where + ": " + f[from+i]
	}
}

// Where names the field as messages do: its type and its name in Go.
func (f *Field) Where() string { return "field " + f.in.String() + "." + f.name }
