// Package crash owns the proof that a turn survives whatever dies: it holds no product code, only tests.
//
// A child process, this test binary, runs one turn with two effects against a database and a world outside: a pipe to the
// test, which writes down each effect as it happens and each thing that the child was told is durable. The child is
// killed, or its disk made to fail, at every system call that writes, at every named failpoint, and at random moments.
// After each the test holds the database to the book: no acknowledged record is lost, no effect happened twice, every turn
// gets exactly one terminal state, an effect is indeterminate exactly when its start was recorded and its end was not, and
// the database is sound. Then the request is asked again, which must answer with the turn there was and do nothing, and a
// further turn of the session must work.
//
// It runs on Linux. CRASH_STRIDE=1 visits every point; without it each sweep visits some, spread evenly. The sweeps of system
// calls are there with -tags strace, which they are compared with; `just crash` runs them all.
package crash
