// Package authority owns the one place where authority is made: authenticated facts and durable ownership in,
// a principal.Scope out.
//
// It holds the only Issuer of an open store. Operator authority needs a stated reason, is written to the audit
// record before it is handed out, and ends with Close, also for scopes already given away. A scope for a session
// is made only from the owner row that the store keeps; a session without one is nobody's. Unknown and foreign
// sessions give one answer outside, and the true reason goes to the audit record.
//
// Nothing here survives a crash: a restarted host resolves again from the owner rows.
// Source: Host Runtime Contracts, PrincipalScope.
package authority
