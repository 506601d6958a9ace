// Package agentfile owns the edits that commands make to a person's agent.yaml: a plugin's pin added or moved to
// another version, a capability added.
//
// An edit inserts or replaces whole lines and leaves every other byte as it was, comments and order included. It is
// checked before it is handed out: the new text must decode to the old document with exactly that one change. What
// cannot be edited so (a list written in brackets, tabs, anything unusual) is refused with the lines to type by hand.
//
// The package only computes; [Replace] writes a file whole or not at all.
package agentfile
