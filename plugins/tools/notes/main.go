// Package main is the plugin notes: short texts that outlive a conversation,
// kept in the plugin's own store for the principal it runs for.
//
// A note is one key, so it is written whole or not at all and a crash leaves
// the old note or the new one. Every change is compare-and-set: who changes a
// note names the version they read, and is refused when somebody was faster.
// An id is made of the title when the note is made, and stays when the title
// changes. A tool refuses first by size and form, then by what is stored, and
// writes last.
package main

import "github.com/b3abf3ee/portcullis/sdk"

func init() {
	kv := sdk.Needs("kv")
	sdk.Register(sdk.Plugin{
		ID: "notes", Version: "1.0.0", License: "Apache-2.0",
		Summary:      "Keep notes from one conversation to the next.",
		Capabilities: []sdk.Capability{{Name: "kv", Reason: "Keeps the notes, which nobody else sees."}},
		Limits:       sdk.Limits{MemoryBytes: 128 << 20, DeadlineMS: 20_000, HostCalls: 5000},
		Tools: []sdk.ToolSpec{
			sdk.Tool("notes.save",
				"Save a note that later conversations can find: a fact, a decision, something to do. Without id it makes a new "+
					"note and gives its id. With id it changes that note, and needs the version that notes.read gave; what is "+
					"left out stays. At most 500 notes of 24 KiB. Never save secrets.",
				Save, kv, sdk.Risk(sdk.RiskLow), sdk.Approval(sdk.ApprovalAuto), sdk.Recovery(sdk.RecoveryIdempotent)),
			sdk.Tool("notes.find",
				"Find notes that have all words of query in title, text or tags, and the tag if one is given; without either, "+
					"the notes changed last. Gives ids and the beginning of the text: use notes.read for the whole. Newest first.",
				Find, kv, sdk.ReadOnly()),
			sdk.Tool("notes.read",
				"Read a whole note by its id, with the version that changing it needs.",
				Read, kv, sdk.ReadOnly()),
			// A second delete may meet a new note of the same title, so
			// repeating it is for a person to decide.
			sdk.Tool("notes.delete",
				"Delete a note by its id. There is no way back. With version it is refused when the note was changed since.",
				Delete, kv, sdk.Recovery(sdk.RecoveryManual)),
		},
	})
}

// main never runs: the host calls the exports of the module.
func main() {}
