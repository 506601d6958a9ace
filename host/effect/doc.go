// Package effect owns the one gate that every tool call passes (the contract's EffectRuntime).
//
// A turn first gets a [Catalog]: the frozen tools it may name, each with an opaque [Ref]. [Runtime.Execute] then takes
// a Ref and never looks a name up again. Eight steps, in this order, in one file (execute.go):
//
//	1 request     the Ref is of this catalog and turn; arguments are strict, bounded and fit the schema
//	2 scope       the principal may act in the session and see the tool
//	3 capability  the core's snapshot and the operator's grants to the plugin cover what the tool needs
//	4 host checks workspace, deadline and output bounds; what the adapter plans to run
//	5 approval    auto, ask or deny; asking is durable; after an answer the plan must still be the one that was shown
//	6 secrets     only what was granted is bound; an unresolved one stops the effect
//	7 run         effect.started is durable and has used its approval, then the adapter runs under deadline and cancellation
//	8 record      the result is validated, redacted into five views and effect.finished is durable
//
// What it refuses: an effect whose audit row cannot be written does not run; an effect that ran but whose end cannot
// be written is Indeterminate, never Succeeded; so is one that sent what may have changed something, saw no answer and has
// no result; a redactor that fails turns every view into one fixed failure. It
// never retries. After a crash an effect with a start and no end is Indeterminate and is not run again.
// Source: Host Runtime Contracts, EffectRuntime.
package effect
