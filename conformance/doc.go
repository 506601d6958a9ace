// Package conformance checks plugins: that each answers its own cases, that it
// answers them alike on both engines, and that what the host promises about
// misbehaving guests holds.
//
// It owns the form of a plugin's cases (testdata/cases.json), a small world for
// them to run in (files, values and HTTP answers, all in memory or in a folder
// that is removed), and the second engine: extism/go-sdk is imported here and
// nowhere else that serves. The second engine is an oracle, not a host: it runs
// trusted test plugins only.
//
// Nothing here survives a run.
package conformance
