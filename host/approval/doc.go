// Package approval owns the durable question "may this run?" and its answer.
//
// A question is stored before anybody sees it, names exactly what would run (the digest of the canonical
// arguments) and for whom, and is decided once, in the transaction that also checks its expiry. "For this session"
// is remembered in memory only, under a key of principal, session, core, policy fingerprint and rule; it ends with
// the session, after eight hours, when the policy changes (the fingerprint is part of the key), and with the
// process.
//
// In order: a cached allowance, else store the question, ask, store the answer. No prompter, no answer, an error,
// a timeout and a cancelled context are all denials; nothing widens. After a crash a pending question is still in
// the store and can be decided, but the call that asked is gone and does not run.
// Source: Host Runtime Contracts, PrincipalScope (approval cache).
package approval
