// Package wire is the contract between a plugin and its host: the names of
// exports and imports, the messages, the frames and the sizes neither side may
// pass. It is compiled into both, so it imports the standard library only.
//
// It owns words and shapes, and no behaviour: nothing here reads a file, keeps
// state or decides whether a call is allowed. A host function is a call
// (i64) -> i64 from the offset of an argument block to the offset of a reply
// block. Log, emit, now and random arguments are plain JSON; http, fs_* and
// kv_* arguments and replies are a frame, a JSON header followed by raw bytes
// (see [EncodeFrame]), so that no body is ever base64.
//
// "No" is an answer, not a trap: a reply carries a [Fault] with one of ten
// codes. A trap means that the guest broke the contract.
//
// The package refuses what is too large before it looks inside. Decoding is
// left to the side that does it: a guest uses the codec of package sdk, the host its
// own stricter decoder. Nothing here outlives a call, so nothing survives a crash.
package wire
