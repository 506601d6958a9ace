// Package outbox owns what becomes of a reply after its turn has ended: it is queued, claimed, sent and settled.
//
// The intent is written by the turn's own terminal transaction (package turn), so that a turn that ended has its
// delivery and one that did not has none. A [Worker] brings it out:
//
//	queued -> claimed -> sending -> delivered | queued (again, later) | failed | unknown
//
// It refuses to guess. Before anything leaves, the delivery is durably sending; from there on a crash, a lost claim or
// a sender that does not know makes it unknown, and nobody sends an unknown one again by himself: only the operator
// does, on record. The exception is a channel that says it is idempotent, because it drops what it has seen under the
// same key; the key is the delivery's id, the same for each attempt.
//
// It orders: within one conversation nothing is claimed while something earlier is still open or anything is on its
// way. Each channel has a lane of its own, so that a slow channel holds up no other. Attempts are bounded, and the
// pauses between them grow to a bound, half fixed and half random. A channel that nobody serves keeps its deliveries
// queued, and the worker says so.
//
// After a crash the rows are there, and [Queue.RecoverDeliveries] settles what the dead host held, by its epoch and by
// expiry. Source: Host Runtime Contracts, TurnExecution step 9 and ChannelInbox invariant 10.
package outbox
