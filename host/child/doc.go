// Package child owns the one tool with which a turn has a child agent do a part of its work.
//
// A child is one turn of another core, in a session of its own, which the child owns and its parent does not. It runs while
// the parent waits, and ends before the parent goes on: cancelling the parent cancels the child and waits for its terminal
// state. It can do what its own core can, and of that only what the parent can: [turn.Parent] narrows its capabilities and its
// catalog. No allowance for the parent's session is the child's.
//
// It refuses: a core that the parent has no agents.spawn:<core> for (in the gate, before this package is asked). A third
// generation, a fifth child of a turn and a third child at once are refused where every child's turn begins (package turn),
// and a child's steps and time are bounded by what its parent has left. What a child may or may not have done outranks its words: then
// the parent's effect is indeterminate too.
//
// After a crash the parent's effect has no end and is indeterminate; the child's turn is recovered as every turn is. Whose
// child it was is in the owner of its session.
package child
