// Package command owns the command line: one file for each sub-command, each from its flags to its exit code.
//
// A command reads its flags and operands, asks package app for what it needs and nothing more (a command that only
// reads history opens no sandbox), does one thing, and prints the answer as text or, under --json, as one JSON
// document on standard output. Notes, progress and logs go to standard error. Flags may stand anywhere, also behind
// operands; "--" ends them.
//
// Exit codes: 0 done, 1 it ran and the answer is no, 2 usage or configuration, 3 the host could not do its job. Every
// failure is shown as a [console.Problem]: what went wrong, where, and what to type next.
//
// Nothing is printed that was not escaped (package console). Nothing here survives a crash; what a command changes
// is durable as the packages below promise it.
package command
