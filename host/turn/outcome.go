package turn

// Outcome is how an admitted turn ended. The six are the contract's own words.
type Outcome string

// The six outcomes.
const (
	Completed     Outcome = "completed"
	NeedsUser     Outcome = "needs_user"    // paused for the user; a later turn goes on
	Failed        Outcome = "failed"        // provider, slot or effect failure after the start
	Cancelled     Outcome = "cancelled"     // on request, cleanup confirmed
	Lost          Outcome = "lost"          // the host died while it ran, and nothing dangerous was under way
	Indeterminate Outcome = "indeterminate" // an effect may or may not have happened
)

// Valid reports whether o is one of the six.
func (o Outcome) Valid() bool {
	switch o {
	case Completed, NeedsUser, Failed, Cancelled, Lost, Indeterminate:
		return true
	}
	return false
}
