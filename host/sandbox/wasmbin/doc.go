// Package wasmbin reads, verifies, meters and writes WebAssembly modules: bytes
// in, bytes out. It runs nothing, imports no engine, has no clock and no state.
//
// It stands between a file from somebody and an engine that believes what it
// reads. [Read] decodes strictly: every count is held against the bytes left
// before anything is allocated, every index against its space, every
// instruction must be known and encoded the one way that all readers take alike,
// and sizes that make compilers slow are bounded. It refuses in the order of the
// file, then in the order of the code; each refusal is a [*Refusal] with a
// stable code, the byte and a sentence. Operand types are left to the engine,
// whose validation is sound once counts are.
//
// [Meter] makes a module pay for what it executes, so that a host decides when
// it stops: no loop, call tree or bulk instruction runs on without the host
// being asked. What a guest used is the same number on every machine. The stack
// that calls within calls take is counted by an estimate of each function's
// frame, and bulk instructions on memory that are long are split.
//
// [Module.Shorten] is for who builds a module: the same in fewer instructions.
//
// # Cost model
//
// One instruction costs one unit; structure (block, loop, end, else, nop, drop)
// is free; division, remainder and square root cost 4; a call costs 4, one
// through a table 36; growing a memory or a table and throwing cost 1024; bulk
// instructions cost 16 and one for every 16 bytes or every table entry.
//
// A charge is taken ahead for the dearest way to the next charge, which is at
// most 96 units away unless one instruction costs more. So what was paid is never
// less than what was executed and, in code of short blocks, up to several times
// more: it is a bound, not a profile. Small functions that lead nowhere are paid
// by their callers.
package wasmbin
