// Package hostile is the suite of guests that try to stop, slow, read or reach what they were not given.
//
// It owns the tables of guests with what must become of each, and the measuring around them. Each guest is a plugin,
// installed with its plugin.json in a real home, granted what a careless operator would grant, and called as an effect
// of a real host, beside another plugin that is called all the while. A guest is contained when
//
//   - its effect ends with the status and the reason code of the table,
//   - within its deadline and 250 ms,
//   - resident memory comes back to within 64 MiB of what it was, goroutines and file descriptors to what they were,
//   - the 99th percentile of the calls beside it stays below twice what it is without it, and
//   - the next call of a good plugin succeeds.
//
// Anything else is a failed test. The guests stand as text in ../guests/hostile; what is too large to commit is made
// when the test runs. The measuring reads /proc, so the suite runs on Linux.
//
//	go test ./conformance/hostile -run Hostile -v
//
// prints "N of N contained" at its end. Nothing here survives a run.
package hostile
