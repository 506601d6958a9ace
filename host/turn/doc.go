// Package turn owns the life of one turn from request to immutable result (the contract's TurnExecution).
//
// One call of [Execution.Run] does, in this order: freeze the request; pin the core revision with its capability
// snapshot, workspace and model; authenticate, bind the session, take its lease and write turn.started in one
// transaction; freeze the effect catalog; store the normalised input; then prepare a prompt, ask the model, run its
// calls, until it answers or a bound is reached; write the one terminal state; release everything.
//
// Turns of one session run one after another in the order they were asked for; other sessions are not held up. What
// fails before turn.started is a [*RejectedError]; what fails after it is persisted and returned as a [Result]. If the
// terminal state cannot be written the caller gets an [*InfrastructureError] and must not infer anything. What
// heeds no end is given up and leaves its turn indeterminate. A host that dies leaves a running row and a claim; the next host
// turns it into lost or indeterminate and runs nothing again, and so does a host that runs on with a turn whose claim is over.
// Source: Host Runtime Contracts, TurnExecution.
package turn
