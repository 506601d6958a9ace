package redact

import "fmt"

// Limit bounds one view. Bytes is the whole view; String is one string of a JSON result, in bytes; Items is the
// members or elements of one container; Depth is how many containers may stand inside each other.
type Limit struct{ Bytes, String, Items, Depth int }

// Bounds are the limits of the five views. Each is independent: what one view shows says nothing about another.
type Bounds struct{ Model, Operator, Event, Durable, Debug Limit }

// MinBytes is the least that a view may be bounded to: there must be room to say what was cut. MaxDepth is the most
// containers inside each other that are looked into; what lies deeper is shown in no view.
const (
	MinBytes = 256
	MaxDepth = 64
)

// MaxRaw is the most bytes of a raw result. A longer one is a failure: what was not searched is not shown.
const MaxRaw = 8 << 20

// DefaultBounds are the bounds where nothing else is configured.
func DefaultBounds() Bounds {
	return Bounds{
		Model:    Limit{Bytes: 48 << 10, String: 16 << 10, Items: 500, Depth: 16},
		Operator: Limit{Bytes: 16 << 10, String: 4 << 10, Items: 200, Depth: 12},
		Event:    Limit{Bytes: 4 << 10, String: 512, Items: 50, Depth: 6},
		Durable:  Limit{Bytes: 64 << 10, String: 32 << 10, Items: 1000, Depth: 32},
		Debug:    Limit{Bytes: 64 << 10, String: 32 << 10, Items: 1000, Depth: 32},
	}
}

func (b Bounds) limit(a Audience) Limit {
	return [audiences]Limit{b.Model, b.Operator, b.Event, b.Durable, b.Debug}[a]
}

// alike reports that two audiences see the same where nothing is hidden: as much, and neither or both on a terminal.
func (b Bounds) alike(x, y Audience) bool {
	return b.limit(x) == b.limit(y) && (x == ForOperator) == (y == ForOperator)
}

func (b Bounds) check() error {
	for a := range audiences {
		if l := b.limit(a); l.Bytes < MinBytes || l.String < 1 || l.Items < 1 || l.Depth < 1 || l.Depth > MaxDepth {
			return fmt.Errorf("redact: the %s view needs at least %d bytes, 1 byte of string, 1 item and a depth of 1 to %d, and has %+v",
				a, MinBytes, MaxDepth, l)
		}
	}
	return nil
}

// Cut is what a view leaves out because of its bounds.
type Cut struct {
	Bytes int // of strings or of text, as the view would show them
	Items int // members and elements, with everything in them
}

// Zero reports that nothing was left out.
func (c Cut) Zero() bool { return c == Cut{} }
