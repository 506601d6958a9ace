// Package main is the plugin files: reading, searching, writing and editing the
// text files of the workspace.
//
// It owns no file and keeps no state. Every path is checked before the host is
// asked, and the host checks again; the workspace has no way out through it. A
// tool refuses first by path, then by size, then by content, and writes last: a
// fault means that nothing was changed. Each write is whole or not at all, so a
// crash leaves the old file or the new one. Between reading a file and writing
// it back, files.edit cannot keep others away; what it replaced is in its diff.
package main

import "github.com/b3abf3ee/portcullis/sdk"

// Capabilities of the tools.
const (
	read  = "fs.read"
	write = "fs.write"
)

func init() {
	sdk.Register(sdk.Plugin{
		ID: "files", Version: "1.0.0", License: "Apache-2.0",
		Summary: "Read, search, write and edit text files of the workspace.",
		Capabilities: []sdk.Capability{
			{Name: read, Reason: "Reads, lists and searches files of the workspace."},
			{Name: write, Reason: "Writes, edits, moves and deletes files of the workspace, each in a tool of its own that asks first."},
		},
		Limits: sdk.Limits{MemoryBytes: 128 << 20, DeadlineMS: 30_000, HostCalls: 10_000, FileBytes: 64 << 20},
		Tools:  append(readers(), writers()...),
	})
}

func readers() []sdk.ToolSpec {
	return []sdk.ToolSpec{
		sdk.Tool("files.read",
			"Read a text file of the workspace, or some lines of it, with line numbers. Use plain for text to copy from. Gives "+
				"at most 48 KiB; next_line says where to go on. Line ends are given as plain line breaks. A binary file is "+
				"named as such and not shown.",
			Read, sdk.ReadOnly(), sdk.Needs(read)),
		sdk.Tool("files.list",
			"List files and directories of the workspace with their sizes. Use depth to look below and glob to filter. Does "+
				"not go into .git and node_modules unless path names them. At most 1000 entries.",
			List, sdk.ReadOnly(), sdk.Needs(read)),
		sdk.Tool("files.search",
			"Search text files of the workspace line by line for a regular expression (RE2) and get path:line: text. Use glob "+
				"to narrow the files. Skips binary files, files over 4 MiB, .git and node_modules. Looks at 16 MiB at most and "+
				"says when it stopped early.",
			Search, sdk.ReadOnly(), sdk.Needs(read)),
	}
}

// writers ask first. Repeating files.write changes nothing more. Repeating an
// edit may replace text in what the first one wrote, a move may take a file that
// came later, and so may a delete: these a person settles.
func writers() []sdk.ToolSpec {
	return []sdk.ToolSpec{
		sdk.Tool("files.write",
			"Write a whole text file into the workspace, making the directories above it. Refuses a file that is there "+
				"already unless overwrite is true. To change a part of a file use files.edit. At most 2 MiB.",
			Write, sdk.Needs(write), sdk.Recovery(sdk.RecoveryIdempotent)),
		sdk.Tool("files.edit",
			"Replace a piece of a text file by another. old_text must be exactly what the file has, spaces included, without "+
				"the line numbers of files.read, and must occur exactly count times. Gives the diff. Files up to 4 MiB.",
			Edit, sdk.Needs(read, write), sdk.Recovery(sdk.RecoveryManual)),
		sdk.Tool("files.move",
			"Move or rename a file or directory of the workspace, making the directories above the new place. Refuses a new "+
				"place that is taken.",
			Move, sdk.Needs(read, write), sdk.Recovery(sdk.RecoveryManual)),
		sdk.Tool("files.delete",
			"Delete one file or one empty directory of the workspace. There is no way back.",
			Delete, sdk.Needs(write), sdk.Risk(sdk.RiskHigh), sdk.Recovery(sdk.RecoveryManual)),
	}
}

// main never runs: the host calls the exports of the module.
func main() {}
