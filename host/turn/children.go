package turn

import (
	"fmt"
	"time"
)

// Bounds of the turns that work for another one, which no core can widen.
const (
	MaxGenerations    = 2 // below a turn that works for nobody
	MaxChildren       = 4 // that one turn may have, one after another or at once
	MaxChildrenAtOnce = 2 // of them
)

// Stable reasons of a rejection that only a child has.
const (
	RejectParent = "parent_over" // the turn that it is to work for does not run here
	RejectDepth  = "depth"       // more than [MaxGenerations]
	RejectCount  = "count"       // more than [MaxChildren]
	RejectCrowd  = "busy"        // more than [MaxChildrenAtOnce]
	RejectSpent  = "spent"       // its parent has no steps or time left
)

// family is how a turn stands to those that it works for and that work for it. The Execution's lock guards it.
type family struct {
	generation int // 0: it works for nobody
	children   int // that it has had
	atWork     int // of them
	steps      int // that it has taken
	maxSteps   int
	ends       time.Time // when its own time is over
}

// within counts a child in with its parent and holds its plan to what that has left. Every turn that works for another passes
// here, whoever asks for it. leave counts it out again. For any other turn the plan is as it was.
func (x *Execution) within(req Request, plan Plan) (_ Plan, generation int, leave func(), err error) {
	if req.Parent == nil {
		return plan, 0, func() {}, nil
	}
	no := func(reason, sentence string, args ...any) (Plan, int, func(), error) {
		return Plan{}, 0, nil, &RejectedError{req.Key, reason, fmt.Sprintf(sentence, args...)}
	}
	now := x.cfg.Clock()
	x.mu.Lock()
	defer x.mu.Unlock()
	r, runs := x.active[req.Parent.Turn.ID()]
	if !runs {
		return no(RejectParent, "the turn that it works for runs no more")
	}
	of := &r.family
	switch {
	case of.generation >= MaxGenerations:
		return no(RejectDepth, "a child of a child has no children: at most %d generations", MaxGenerations)
	case of.children >= MaxChildren:
		return no(RejectCount, "this turn had its %d children", MaxChildren)
	case of.atWork >= MaxChildrenAtOnce:
		return no(RejectCrowd, "%d children are at work: wait for one", MaxChildrenAtOnce)
	case of.steps >= of.maxSteps || !now.Before(of.ends):
		return no(RejectSpent, "this turn has no step or no time left that a child could use")
	}
	of.children, of.atWork = of.children+1, of.atWork+1
	plan.MaxSteps = min(plan.MaxSteps, of.maxSteps-of.steps)
	plan.Timeout = min(plan.Timeout, of.ends.Sub(now))
	return plan, of.generation + 1, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		of.atWork--
	}, nil
}

// step counts a step of a running turn.
func (r *running) step(x *Execution) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r.family.steps++
}
