// Package scripted is a model that answers from a file: for the quickstart, for
// tests, and for people who keep regression scripts of their agents. It needs no
// network and no key, and the same script shown the same conversation gives the
// same answers, ids included.
//
// A script is a list of steps. Each says what the model must have been shown
// (expect) and what it does (exactly one of say, call, error). A step whose
// expectation is not met fails the turn with an [*Unmet] inside a
// [*provider.Error] of kind script, and the place in the script is kept, so
// [Model.Done] reports it as well. Files are decoded strictly: unknown and
// repeated keys, anchors, aliases, tags and a second document are refused, with
// line and column.
//
// A script is parsed once. A [Model] keeps one place per session (the value of
// [provider.MetadataSession] in the request, which may be empty): a session's
// later turns go on where the one before stopped, and sessions do not disturb
// each other. Places live in memory, so a new process starts at the first step.
package scripted
