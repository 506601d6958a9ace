package command

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

// TestMain lets this test binary be the program: the scripts run it as `portcullis`, with the real Main in a process
// of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"portcullis": func() { os.Exit(Main(context.Background(), os.Args, console.System())) },
	})
}

// TestScripts runs what a user could have typed, refusals included. Each script has a home of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PORTCULLIS_HOME", e.Getenv("WORK")+"/home")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"json":  jsonAt,
		},
	})
}
