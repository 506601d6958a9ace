// Command portcullis runs AI-agent tools as WebAssembly plugins behind one gate.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // schedules name zones, and not every machine has their data

	"github.com/b3abf3ee/portcullis/cli/internal/command"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

func main() { os.Exit(command.Main(context.Background(), os.Args, console.System())) }
