// Package memory owns the strict in-memory twin of store/sqlite, for tests and conformance runs.
//
// It keeps the same rules: the same dispositions, the same refusals of every state machine, the same owner predicates
// and audit records, the same bounds. What it does not keep is anything after the process: nothing survives a crash.
// Each method holds one lock from its first look to its last change, checks everything before it changes anything,
// and copies values in and out, so that a caller can neither see half a change nor make one behind the lock.
//
// store/storetest holds both stores to one contract.
package memory
