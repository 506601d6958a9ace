package console

import (
	"strconv"
	"strings"
)

// Exit codes of the program. They are part of its interface: scripts branch on them.
const (
	ExitDone  = 0 // done
	ExitNo    = 1 // it ran, and the answer is no: a failed turn, a denied effect, a failed check
	ExitUsage = 2 // the command or the configuration is wrong; nothing was done
	ExitHost  = 3 // the host could not do its job
)

// Problem is a failure as it is shown: what went wrong, where, and what to type next. It is the only error that
// reaches a person; every other error is turned into one first.
type Problem struct {
	Code    string // stable, for scripts: "unknown_tool"
	Message string // one or more lines, without the remedy
	Remedy  string // what to type or edit next; may be empty only when there is nothing to do
	File    string // where, when a file is to blame; Line and Column count from 1, 0 means not known
	Line    int
	Column  int
	Exit    int // one of the exit codes; 0 is read as ExitHost
	Cause   error
}

// Error is the place, the message and nothing else.
func (p *Problem) Error() string {
	if where := p.Where(); where != "" {
		return where + ": " + p.Message
	}
	return p.Message
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Where is "file:line:column" as far as it is known.
func (p *Problem) Where() string {
	where := []string{p.File}
	if p.Line > 0 {
		where = append(where, strconv.Itoa(p.Line))
		if p.Column > 0 {
			where = append(where, strconv.Itoa(p.Column))
		}
	}
	return strings.TrimPrefix(strings.Join(where, ":"), ":")
}

// ExitCode is the exit code of the program for p.
func (p *Problem) ExitCode() int {
	if p.Exit == ExitDone {
		return ExitHost
	}
	return p.Exit
}

// document is the shape of a failure under --json.
type document struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Remedy  string `json:"remedy,omitempty"`
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		Column  int    `json:"column,omitempty"`
	} `json:"error"`
}

// Document is p as the one JSON document of --json: {"error":{code,message,remedy,file,line,column}}.
func (p *Problem) Document() any {
	var d document
	d.Error.Code, d.Error.Message, d.Error.Remedy = p.Code, p.Message, p.Remedy
	d.Error.File, d.Error.Line, d.Error.Column = p.File, p.Line, p.Column
	return d
}
