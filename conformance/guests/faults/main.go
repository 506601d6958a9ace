// Package main is a plugin that goes wrong in every way an ordinary Go program
// can. Each tool is one way; tests run them to see that the host comes back,
// says what happened, and is none the worse for it.
package main

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/b3abf3ee/portcullis/sdk"
)

func init() {
	var tools []sdk.ToolSpec
	for _, w := range []struct {
		name, summary string
		do            func()
	}{
		{"faults.panic", "Panic.", func() { panic("it broke") }},
		{"faults.nil", "Use a nil pointer.", func() { var p *int; *p = 1 }},
		{"faults.exit", "Exit with code 3.", func() { os.Exit(3) }},
		{"faults.exit_zero", "Exit with code 0.", func() { os.Exit(0) }},
		{"faults.deadlock", "Wait for nobody.", func() { select {} }},
		{"faults.spin", "Loop for ever.", func() {
			for {
				steps.Add(1)
			}
		}},
		{"faults.sleep", "Sleep for an hour.", func() { time.Sleep(time.Hour) }},
		{"faults.memory", "Keep all memory there is.", func() {
			for {
				kept = append(kept, make([]byte, 1<<20))
			}
		}},
		{"faults.stdout", "Print where a protocol may run.", func() { os.Stdout.WriteString("{\"jsonrpc\":\"2.0\"}\n") }},
		{"faults.leave", "Leave goroutines behind and come back.", func() {
			for range 100 {
				go func() {
					for {
						steps.Add(1)
						time.Sleep(time.Microsecond)
					}
				}()
			}
		}},
	} {
		tools = append(tools, sdk.Tool(w.name, w.summary, func(context.Context, struct{}, sdk.Host) (Out, error) {
			calls++
			w.do()
			return Out{Calls: calls}, nil
		}, sdk.ReadOnly()))
	}
	tools = append(tools, sdk.Tool("faults.output", "Answer with more than is allowed.", func(context.Context, struct{}, sdk.Host) (Out, error) {
		return Out{Text: strings.Repeat("x", 100<<10)}, nil
	}, sdk.ReadOnly()))
	sdk.Register(sdk.Plugin{
		ID: "faults", Version: "1.0.0", License: "Apache-2.0", Summary: "Goes wrong in every way.",
		Limits: sdk.Limits{MemoryBytes: 32 << 20, DeadlineMS: 20_000, OutputBytes: 64 << 10},
		Tools:  tools,
	})
}

// main never runs: the host calls the exports of the module.
func main() {}

// Out tells how many calls this instance has seen.
type Out struct {
	Calls int    `json:"calls"`
	Text  string `json:"text,omitempty"`
}

// State that would show if one call could see another.
var (
	calls int
	steps atomic.Int64
	kept  [][]byte
)
