package principal

import "fmt"

// RefusedOperator: the operation is the operator's alone, and the scope is another principal's.
const RefusedOperator Refusal = "not_operator"

// RefusedError reports a scope that a store must not act for. It is an error and not an answer because the host
// holds the scope: a caller that still has it kept it past its host, or brought it from another database.
type RefusedError struct {
	Principal string // principal id of the scope, empty for nobody
	Why       Refusal
}

// Error names the principal and the reason. It says nothing about any row.
func (e *RefusedError) Error() string {
	who := e.Principal
	if who == "" {
		who = "nobody"
	}
	return fmt.Sprintf("principal: %s may not use this store (%s)", who, e.Why)
}

// Accept is nil when the store named store may act for by, else a [*RefusedError].
func Accept(by Scope, store string) error {
	if why := by.RefusedBy(store); why != "" {
		return &RefusedError{Principal: by.PrincipalID(), Why: why}
	}
	return nil
}

// AcceptOperator is [Accept] for what only the operator may do.
func AcceptOperator(by Scope, store string) error {
	if err := Accept(by, store); err != nil {
		return err
	}
	if by.Authority() != Operator {
		return &RefusedError{Principal: by.PrincipalID(), Why: RefusedOperator}
	}
	return nil
}
