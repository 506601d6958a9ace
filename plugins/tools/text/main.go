// Package main is the plugin text: what a model should not do by reading, done
// by a program. It queries JSON with jq, extracts with regular expressions,
// compares, hashes and counts. It asks for no capability and sees its arguments
// only, so a call changes nothing and nothing survives it.
//
// Every tool refuses first by size, then by syntax, and then works within a
// bound of its own: jq counts its steps, patterns their compiled size, and each
// result its bytes. A result that reaches its bound is cut and says so.
package main

import "github.com/b3abf3ee/portcullis/sdk"

// Bounds that the tools share, in bytes.
const (
	maxText   = 512 << 10 // one text argument
	maxResult = 256 << 10 // the text in one result
)

// maxMemory is what the plugin asks for, in bytes.
const maxMemory = 256 << 20

func init() {
	sdk.Register(sdk.Plugin{
		ID: "text", Version: "1.0.0", License: "Apache-2.0",
		Summary: "Query JSON, match patterns, compare, hash and count text.",
		Limits:  sdk.Limits{MemoryBytes: maxMemory, DeadlineMS: 20_000, HostCalls: 10},
		Tools: []sdk.ToolSpec{
			sdk.Tool("text.jq",
				"Run a jq filter over JSON and get its outputs, for example .items[] | {id, name}. Use it to cut a large "+
					"document down or to sum and sort exactly. Give the document as value, or as text when you have JSON text or "+
					"several documents, one a line. Bounded: 512 KiB of JSON, two million steps, 1000 outputs, 256 KiB of "+
					"result. No files, environment or modules.",
				JQ, sdk.ReadOnly()),
			sdk.Tool("text.regex",
				"Find what matches a regular expression in a text, with line numbers and groups. RE2 syntax: (?P<name>...) "+
					"groups, (?i) to ignore case, (?m) for ^ and $ at lines, (?s) for . over lines; no lookaround and no "+
					"backreferences. At most 512 KiB of text and 1000 matches.",
				Regex, sdk.ReadOnly()),
			sdk.Tool("text.diff",
				"Compare two texts line by line and get a unified diff. Use it to see exactly what changed. At most 512 KiB "+
					"each; a diff longer than 256 KiB is cut at a line.",
				Diff, sdk.ReadOnly()),
			sdk.Tool("text.hash",
				"Compute a digest of a text or of bytes in base64. sha256 and sha512 for comparing content; sha1 and md5 only "+
					"to check against checksums that others publish.",
				Hash, sdk.ReadOnly()),
			sdk.Tool("text.count",
				"Count bytes, characters (Unicode code points), words and lines of a text, and how often a piece occurs in "+
					"it. Use it instead of counting yourself. At most 512 KiB.",
				Count, sdk.ReadOnly()),
		},
	})
}

// main never runs: the host calls the exports of the module.
func main() {}

// fits refuses an argument past the bound of all texts.
func fits(name, text string) error {
	if len(text) > maxText {
		return sdk.Errorf(sdk.TooLarge, "%s has %d bytes, at most %d are allowed", name, len(text), maxText)
	}
	return nil
}
