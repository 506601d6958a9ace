package wire

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// Reconciliation is the output of [ExportReconcile]: what became of the [Call] that is its input. Exactly one of State and
// Fault is set.
type Reconciliation struct {
	State string `json:"state,omitempty"` // [Committed], [NotCommitted] or [Unknown]
	// Reference is where the outcome can be looked at, as the other side names it: an id, a URL. Only with [Committed]; at
	// most [MaxReference] bytes of UTF-8 in one line. People and models read it.
	Reference string `json:"reference,omitempty"`
	Fault     *Fault `json:"fault,omitempty"`
}

// States of a [Reconciliation].
const (
	Committed    = "committed" // it happened
	NotCommitted = "not_found" // it did not happen, and will not any more
	Unknown      = "unknown"   // this cannot be told now
)

// Check reports a reconciliation that has neither a state nor a fault, both, a state that the contract does not know, or a
// reference that cannot be shown.
func (r Reconciliation) Check() error {
	switch {
	case r.Fault != nil && (r.State != "" || r.Reference != ""):
		return errors.New("wire: reconciliation has a fault and more")
	case r.Fault != nil:
		return r.Fault.Check()
	case r.State != Committed && r.State != NotCommitted && r.State != Unknown:
		return errors.New("wire: reconciliation has the unknown state " + strconv.Quote(r.State))
	case r.Reference != "" && r.State != Committed:
		return errors.New("wire: reconciliation " + r.State + " has a reference")
	case len(r.Reference) > MaxReference:
		return errors.New("wire: reference has " + strconv.Itoa(len(r.Reference)) + " bytes, at most " + strconv.Itoa(MaxReference) + " are allowed")
	case !oneLine(r.Reference):
		return errors.New("wire: reference is not one line of UTF-8")
	}
	return nil
}

func oneLine(s string) bool {
	for _, c := range s {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 {
			return false
		}
	}
	return utf8.ValidString(s)
}
