// Package approval owns the durable question "may this run?" and its answer.
//
// A question is stored before anybody sees it, names exactly what would run (the digest of the canonical arguments and of the
// adapter's plan), for whom, and who may answer, in texts that no screen acts on. It is decided once, by its id, in the
// transaction that also checks its expiry and the decider. The effect that starts under an answer uses it in the transaction
// of its start.
//
// "For this session" is remembered in memory only, under a key of principal, session, core, policy fingerprint and rule;
// requests of one key are decided one after another, so that equal ones are one question. An allowance ends after eight hours,
// with its session, with a change of anything in its key, with a revocation by any process, and with this process. A revocation
// also denies whatever came before it and still waits.
//
// In order: an allowance that still stands, else store the question, ask (a prompter, or a courier and an answer by id), store
// the answer. Nobody to ask, no answer, an answer by somebody else, an error, a timeout and a cancelled context are all
// denials; nothing widens. After a crash the next host's recovery expires what was pending, and the call that asked does
// not run.
// Source: Host Runtime Contracts, PrincipalScope (approval cache).
package approval
