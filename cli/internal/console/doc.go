// Package console owns what a person at a terminal sees and types: the escaping of everything that is not ours, text
// and table output, the one JSON document of --json, progress lines, questions and their answers, and Ctrl-C.
//
// It refuses to print a string unescaped: the only way to write a value is through a format whose arguments are
// escaped first (see [Text.Say]), so a tool's result, a model's words or a file name cannot move the cursor, hide a
// line or reverse its direction. Colour is applied after escaping.
//
// Order of one question: what was typed before it is thrown away, then it is shown, then one line is read. The end of
// the input is not an answer.
//
// Nothing here survives the process. The package starts one goroutine per [Lines] and per [Progress]; their Close
// ends them, except that a read which the operating system cannot interrupt ends with the process.
package console
