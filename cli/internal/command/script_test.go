package command

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/process"
	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// TestMain lets this test binary be the program: the scripts run it as `portcullis`, with the real Main in a process
// of its own.
func TestMain(m *testing.M) {
	if sandbox.IsCompileChild(os.Args) || process.IsKeeper(os.Args) {
		os.Exit(Main(context.Background(), os.Args, console.System()))
	}
	testscript.Main(m, map[string]func(){
		"portcullis": func() { os.Exit(Main(context.Background(), os.Args, console.System())) },
	})
}

// TestScripts runs what a user could have typed, refusals included. Each script has a home of its own: none at first,
// and with the command `home` one as `portcullis init` makes it.
func TestScripts(t *testing.T) {
	s := share(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PORTCULLIS_HOME", e.Getenv("WORK")+"/home")
			e.Setenv("HOME", e.Getenv("WORK")+"/user")
			e.Setenv("CHECKOUT", s.checkout)
			e.Setenv("FAULTS", s.faults)
			e.Setenv("LEDGER", s.ledger)
			for name, value := range s.env {
				e.Setenv(name, value)
			}
			return os.Mkdir(e.Getenv("HOME"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"home": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) > 0 {
					ts.Fatalf("usage: home")
				}
				copyHome(ts, s.home, ts.Getenv("PORTCULLIS_HOME"))
			},
			"exits":    exits,
			"json":     jsonAt,
			"keep":     keep,
			"snapshot": snapshot,
			"sql":      statements,
			"replace":  replace,
			"server":   server,
		},
	})
}

func goEnv(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatalf("go env %s: %v", name, err)
	}
	return filepath.Clean(strings.TrimSpace(string(out)))
}
