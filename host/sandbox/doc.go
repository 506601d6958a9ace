// Package sandbox runs plugins: WebAssembly modules from people the host has no
// reason to trust.
//
// It owns the engine (wazero is imported here and nowhere else), the Extism
// kernel ABI as Go code, the host functions of portcullis/v1, and the adapter
// through which an effect becomes one guest call. It does not decide whether a
// call may happen; it holds the call to what was decided.
//
// Loading refuses in this order, before anything is compiled: a digest other
// than the manifest's, another contract version, bytes that are no core module,
// counts that their bytes cannot hold, modules of other systems, imports that
// nobody serves, imports that no guest gets, imports the manifest does not say
// or the operator has not granted, entry points of the wrong type. Each refusal
// is a [*LoadError] whose sentence says what to do.
//
// A call gets an instance to itself in the state that initialisation left, its
// own blocks and its own budget; nothing of one call is visible to another. A
// plugin is initialised once, under the deadline of its first call and without
// that call's authority, and a snapshot taken. After a call that ended well its
// instance is restored from it and kept; after any other it is discarded, and a
// module whose state the engine cannot restore is made anew for each call.
//
// Guest code pays for what it executes and asks the host for more every few
// microseconds to milliseconds, which is when deadline, cancellation and fuel are
// looked at and others get the processor: package wasmbin rewrites every module
// at load. Host calls pay as well, for themselves and for the bytes they move.
// The memory of all calls and the calls of one plugin have a bound in the engine.
// How the call ended is a value, an
// [Outcome], decided from the host's context, clock and counters only: a guest
// cannot forge it. A call returns soon after its deadline whatever guest and
// host functions do.
//
// Guests see no file system, environment, arguments or standard streams; files,
// values and network are abilities over ports, checked again at each use.
//
// The engine's compiler cannot be interrupted: modules are compiled by a child
// process ([SelfCompiler]) that is bounded and killed at a deadline, into an
// owner-only folder. Code from that folder is checked against what was written
// before it is loaded, with a plugin's first call; what was called longest ago
// leaves memory first. The folder is the only thing here that survives a crash,
// and a cache: removing it costs time.
package sandbox
