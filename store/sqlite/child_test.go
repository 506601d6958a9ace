package sqlite

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// childEnv makes the test binary run one of the programs below instead of the tests: what a process leaves behind
// when it is killed can only be seen from another one.
const childEnv = "PORTCULLIS_SQLITE_CHILD"

func TestMain(m *testing.M) {
	program, path, _ := strings.Cut(os.Getenv(childEnv), " ")
	switch {
	case program == "":
		os.Exit(m.Run())
	case program == "turns":
		runTurns(path)
	case strings.HasPrefix(program, "migrate-"):
		migrateAndDie(path, strings.TrimPrefix(program, "migrate-"))
	case strings.HasPrefix(program, "write-"):
		bytes, err := strconv.ParseInt(strings.TrimPrefix(program, "write-"), 10, 64)
		if err == nil {
			migrateAndDieWriting(path, bytes)
		}
	}
	fmt.Fprintln(os.Stderr, "the child came to its end")
	os.Exit(1)
}

// child is this test binary as the named program over a database.
func child(t *testing.T, program, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+program+" "+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// die kills this process as a power cut would: nothing deferred runs.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}
