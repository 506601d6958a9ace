// Package quickstart owns the first minute: one scripted turn, offline, through the whole gate in a home that is
// thrown away, and the proof that a planted secret is shown nowhere.
//
// The turn has five effects: one that runs by itself, one whose result holds the secret, one that is asked about, one
// that was not granted, one that a rule forbids. Nobody needs to be there: the question is answered by the quickstart
// itself, which says so.
//
// The secret is random for each run and planted in a file of the workspace. After the turn it is looked for, in
// several encodings, in every view of every effect, in what was asked and answered, in the log, and in the bytes of
// every file of the home, the database included. One find is a failure.
//
// Nothing survives but the caches: [Home.Remove] takes the home away, also when the turn failed.
package quickstart
