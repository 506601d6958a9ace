// Package approval owns the question whether a call may run by itself, must be asked about, or must not run: the
// modes and risks, the rules an operator writes, and the key under which an "allow for this session" is remembered.
//
// Lookup inside one file: tools[name], else capabilities[cap], else risks[risk], else default. Among the
// capability rules for one capability the most specific answers; for a tool with several capabilities the strictest
// answer counts. Several files (a core's and the host's) are combined with the tool's own mode, and the stricter
// wins throughout: a file can tighten, never loosen.
//
// [Compile] refuses, with file, line and column: unknown tools, capabilities, risks and modes, keys that stand
// twice, and rules that can never decide anything. A policy with faults denies every tool, so that a caller who
// drops the faults fails closed. Values that were never set are the strictest: the zero [Mode] counts as deny.
//
// Everything here is arithmetic over given facts. Nothing survives a crash; remembered allowances live in memory,
// under a [Key] that changes whenever the principal, session, core, policy or rule does.
// Source: Host Runtime Contracts, PrincipalScope (always_allow_for_session).
package approval
