package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
)

// BenchmarkCall is `portcullis call` from the flags to the closed home, everything but the start of the process, with
// warm caches.
func BenchmarkCall(b *testing.B) {
	home := filepath.Join(b.TempDir(), "home")
	b.Setenv(app.CacheVariable, conformancetest.CacheDir(b))
	p := console.Process{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer), Env: os.Getenv, Dir: conformancetest.Root(b)}
	run := func(args ...string) {
		if code := Main(b.Context(), append([]string{"portcullis", "--home", home}, args...), p); code != console.ExitDone {
			b.Fatalf("%s: exit code %d\n%s%s", args[0], code, p.Out, p.Err)
		}
	}
	run("init", "--source", p.Dir)
	for b.Loop() {
		run("call", "calc.eval", "--args", `{"expression":"0.1+0.2"}`, "--json")
	}
}
