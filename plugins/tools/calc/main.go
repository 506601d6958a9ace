// Package main is the plugin calc: exact decimal arithmetic and dates for a
// model that is bad at both. It asks for no capability; a call computes from
// its arguments and the host's clock and changes nothing, so nothing survives
// it.
//
// An expression is refused by length, then by syntax and nesting, then while
// it is evaluated by range and by a budget for the operations that iterate.
// The parser is our own: it is two hundred lines, and the kept expression
// parsers compute in binary floating point.
//
// Dates know UTC and fixed offsets. The zone database would add 0.4 MB to a
// plugin whose size is what a single call waits for, and would be as old as the
// build.
package main

import "github.com/b3abf3ee/portcullis/sdk"

func init() {
	sdk.Register(sdk.Plugin{
		ID: "calc", Version: "1.0.0", License: "Apache-2.0",
		Summary: "Exact decimal arithmetic, and calculating with dates.",
		Limits:  sdk.Limits{DeadlineMS: 10_000, HostCalls: 10},
		Tools: []sdk.ToolSpec{
			sdk.Tool("calc.eval",
				"Evaluate an arithmetic expression exactly in decimal: 0.1+0.2 is 0.3. Use it for every calculation "+
					"instead of doing it in your head. Gives the value as text, and says so when it had to round. "+
					"At most 4096 characters; numbers between 10^-6144 and 10^6144; no variables and no units.",
				Eval, sdk.ReadOnly()),
			sdk.Tool("calc.date",
				"Calculate with dates: add or subtract years to seconds, find the weekday and ISO week, measure the time "+
					"between two dates, or learn the current time. Knows UTC and fixed offsets such as +02:00, no zone names "+
					"and no daylight saving. Years 1 to 9999.",
				Date, sdk.ReadOnly()),
		},
	})
}

// main never runs: the host calls the exports of the module.
func main() {}
