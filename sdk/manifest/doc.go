// Package manifest is plugin.json: the one file about a plugin that a host
// reads before it has decided anything.
//
// It owns the file's shape, its strict reading and its rules. [Parse] refuses
// first by size, then by syntax (unknown members, a member twice, anything
// after the value), then by [Manifest.Validate], which lists every fault with
// the path of the wrong member rather than stopping at the first. [Marshal] is
// deterministic: the same manifest is the same bytes.
//
// A manifest states what a plugin asks for and grants nothing. Whether the
// binary beside it is the one it describes is for the reader to check, by
// digest. The package keeps no state, so nothing survives a crash.
package manifest
