// Package rule owns the decisions that every store takes alike, as pure functions: which input is refused, who may
// resume a session, what a lost turn becomes, how a record is cut to its bounds.
//
// It exists so that the SQLite store and its in-memory twin cannot drift apart in what is not about storage. What is
// about storage (predicates, state machines, limits that need a row) each store has for itself, and
// store/storetest compares them. Nothing here does I/O, reads a clock or keeps anything.
package rule
