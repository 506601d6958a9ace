// Package evasion owns the attempts to get a call run that nobody allowed, or another call than was allowed: each is a row
// of a table with its class, and each goes through the whole gate (effect.Runtime, approval.Gate, a store, the builtin
// that runs programs) and must be refused or asked about again. It holds the host to that and nothing else; what a
// helper alone would say of an attempt is no row.
//
//	go test -v ./conformance/evasion
//
// prints how many were tried and how many were stopped. The package has no code of its own outside its tests.
package evasion
