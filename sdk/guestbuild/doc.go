// Package guestbuild turns a Go package into a plugin: a wasm binary and the
// plugin.json beside it.
//
// It owns the one way in which guests are built: the ordinary Go toolchain for
// wasip1 in a cleaned environment, so that the same sources give the same bytes
// whoever builds them. In this order: find out what the sources are, stop there
// when nothing changed, compile, take out of the binary what Go's runtime never
// reads and have its code made shorter, read its exports and imports, ask the
// caller to describe it, make the manifest, validate it, and only then put
// binary, manifest and stamp in place by rename. A build that fails or is
// killed leaves what was there before; the stamp comes last, so a half-replaced
// output is built anew.
//
// It refuses a binary whose manifest would not be valid, with every fault. It
// does not run the binary: describing needs a sandbox, which is the caller's.
// It reads every source file in this process, also when nothing is compiled:
// "go test" records the files that a test opens, and only so knows that a
// cached result is stale.
package guestbuild
