// Command sample is the smallest useful plugin: the builder's tests build it.
package main

import (
	"context"

	"github.com/b3abf3ee/portcullis/sdk"
)

func init() {
	sdk.Register(sdk.Plugin{
		ID: "sample", Version: "0.1.0", Summary: "Greets.", License: "Apache-2.0",
		Tools: []sdk.ToolSpec{sdk.Tool("sample.greet", "Greet someone by name.", greet, sdk.ReadOnly())},
	})
}

func main() {}

type greetIn struct {
	Name string `json:"name" desc:"whom to greet" minLength:"1"`
}

type greetOut struct {
	Text string `json:"text"`
}

func greet(_ context.Context, in greetIn, h sdk.Host) (greetOut, error) {
	h.Log(sdk.LevelInfo, "greeting", "name", in.Name)
	return greetOut{Text: "Hello, " + in.Name + "."}, nil
}
