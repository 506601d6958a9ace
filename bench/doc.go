// Command bench runs one echo through Portcullis and through what else runs tools for agents, interleaved in one run,
// and prints a table with the ratios that Portcullis holds itself to.
//
// It is a module of its own: the peers' libraries are no dependencies of Portcullis. It owns no result: absolute times
// belong to the machine, and to what else the machine does; only ratios of one run are worth comparing. Run it with
// `just bench`, or `go run .` in this folder; docs/performance.md says what each line includes.
package main
