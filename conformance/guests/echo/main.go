// Package main is the smallest useful guest: one typed tool that gives back what
// it is given. The size of a guest and the time of a typed call are measured on
// it, so it imports package sdk and nothing else that has code.
package main

import (
	"context"

	"github.com/b3abf3ee/portcullis/sdk"
)

func init() {
	sdk.Register(sdk.Plugin{
		ID: "echo", Version: "1.0.0", License: "Apache-2.0",
		Summary: "Gives back what it is given.",
		Tools:   []sdk.ToolSpec{sdk.Tool("echo.copy", "Give back the arguments.", Copy, sdk.ReadOnly())},
	})
}

// Message has a member of each common kind.
type Message struct {
	ID    int64             `json:"id"`
	Title string            `json:"title"`
	Tags  []string          `json:"tags"`
	Items []Item            `json:"items"`
	Notes map[string]string `json:"notes,omitempty"`
}

// Item is one line of a message.
type Item struct {
	Name  string  `json:"name"`
	Price float64 `json:"price"`
	Count int     `json:"count"`
	Gift  bool    `json:"gift,omitempty"`
}

// Copy gives back the arguments.
func Copy(_ context.Context, in Message, _ sdk.Host) (Message, error) { return in, nil }

// main never runs: the host calls the exports of the module.
func main() {}
