// Package document owns one reading of a JSON text: it says whether the text is valid, and keeps where each value
// stands, so that whoever looks at the text next need not read it again.
//
// The tokens lie flat in the order of the text and hold no pointers; a large result costs a few allocations. Validity is
// judged in the same walk, in two strengths: [Parse] takes what RFC 8259 allows, [ParseStrict] refuses duplicate names,
// bytes that are not UTF-8 and lone surrogates as well (I-JSON, RFC 7493). A fuzz target holds both against jsontext:
// they take the same texts, and a text that is said to be canonical is what its RFC 8785 makes of it.
//
// An element of an array is read by the tokens of the one before it where the text goes the same way, and its token says so
// ([Alike]). Whether it was read that way makes no other difference, which a fuzz target holds too.
//
// What it refuses: text that is not one JSON value, and text over [MaxBytes]. There is no I/O, no clock and no state
// here but the memory of a [Reader], and nothing survives a crash.
package document
