// Package sqlite owns the durable store: one SQLite file in WAL mode with synchronous=FULL, and every port of the host
// that needs one.
//
// One method is one transaction in effect. Writes go one at a time through one connection that begins IMMEDIATE; those
// that come while the disk is flushed, or while a transaction runs, share a commit, so that a flush serves many
// sessions. When one of them fails the transaction is undone and the others run again without it. Reads have a pool of
// their own and see the last commit. A method that returned nil is on disk; one that returned an error wrote
// nothing, except that after a failed commit nobody can tell, and then the store refuses every further write until it
// is opened again. What a turn gives to be written behind is on disk with its next write. A context that ends while a
// write waits for its turn stops it; once a write has begun it runs to its end, so that "cancelled" never means "maybe".
//
// The owner predicate of each owned query is in its WHERE. An exact lookup that finds nothing gives one answer outside
// and writes the true reason to the audit. Scopes of another store, of nobody and of a closed operator are a
// [principal.RefusedError] before any SQL is built. State machines (a turn ends once, an effect ends once, the first
// answer to a question stands, owners and audit records never change) hold in CHECKs and triggers below the program's
// own checks.
//
// [Open] migrates behind a backup; see [Migrate]. After a crash the last acknowledged commit is there and nothing
// half-written is; running turns stay running until [Store.Recover] ends them.
package sqlite
