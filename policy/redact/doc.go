// Package redact owns what may be shown of a result: it removes secrets and makes five independently bounded views
// (model, operator, event, durable, debug) from one raw result.
//
// What it removes: known values (a [Set]) in every encoding listed below; whatever stands under a sensitive field
// name, with everything in it; and what free text gives away (URL passwords and query values, authorization and
// cookie headers, command-line options, assignments, well-known token shapes). A value that one place gives away is
// removed everywhere in the result. Encodings: percent (any subset, any case, repeated), form, backslash escapes of
// JSON, Go, C and shells, HTML and XML entities, quoted-printable, base64 in both alphabets at every alignment,
// padded or not, wrapped or not, hex with or without separators, UTF-16, any three of these inside each other, and
// the value or its (double) base64 written backwards.
//
// What it refuses: values so short or plain that they occur by chance, results over [MaxRaw], and results that are
// encoded in so many ways that they cannot be searched. When it cannot finish, every view is [FailedText]; a
// failure never shows more. A hit never turns a result into a failure: the span is masked and the rest stays.
//
// Order: names and shapes are found first, then all values, known and discovered, are searched for in every string,
// name and number; then each view is rendered from those findings within its own bounds. Masks cannot be taken for
// values: [ContainsSentinel] finds them, so that an effect whose input has one can be refused.
//
// What it cannot see: encryption, compression, hashes, other transforms, a value split over two strings, and in a [Stream]
// a value whose encoding has white space in it and takes more than ten bytes for each of its own. There
// is no I/O, no clock and no state here, and nothing survives a crash; a Set is rebuilt from what the host holds.
package redact
