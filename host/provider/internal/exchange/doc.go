// Package exchange carries one HTTP exchange between a vendor's library and the
// host's HTTP client, and keeps the facts the library throws away.
//
// Both vendor libraries accept "something with Do". A [Call] is that something,
// good for exactly one request: a library that retried on its own would be
// refused, so the only retry is the one in host/provider. In order it refuses a
// second use, sends under an idle timer, refuses a redirect (a key must not
// follow one), records status and headers, and counts the body while it is read:
// the whole of it, each line, and an error body to 64 KiB.
//
// It holds no state beyond the call. Nothing survives a crash.
package exchange
