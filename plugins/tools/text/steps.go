package main

import (
	"context"
	"errors"
)

// errSteps is the end of a budget.
var errSteps = errors.New("out of steps")

// steps is a context that ends after so many looks at Done. gojq looks once for
// each instruction, so this counts instructions. A timer would not do: a guest
// has one thread, and a timer runs only when the busy code lets it.
type steps struct {
	context.Context
	left int
	over chan struct{} // closed
}

func newSteps(ctx context.Context, n int) *steps {
	over := make(chan struct{})
	close(over)
	return &steps{Context: ctx, left: n, over: over}
}

// Done takes one step.
func (s *steps) Done() <-chan struct{} {
	if s.left <= 0 {
		return s.over
	}
	s.left--
	return s.Context.Done()
}

// Err is errSteps once the budget is gone.
func (s *steps) Err() error {
	if err := s.Context.Err(); err != nil {
		return err
	}
	if s.left <= 0 {
		return errSteps
	}
	return nil
}
