package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// describer asks a binary what it is, in an empty sandbox.
func (s *shell) describer() (func(ctx context.Context, wasm []byte) ([]byte, error), error) {
	cache, err := app.UserCache(s.proc.Env)
	if err != nil {
		return nil, err
	}
	return describingBy(cache)
}

// describingBy keeps compiled code in the folder cache.
func describingBy(cache string) (func(ctx context.Context, wasm []byte) ([]byte, error), error) {
	compiler, err := sandbox.SelfCompiler()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, wasm []byte) ([]byte, error) {
		return host.Describe(ctx, cache, compiler, wasm)
	}, nil
}

// makePlugins makes bundled plugins with progress on stderr and leaves their compiled code in the folder cache, so that
// no call has to wait for it. work is a folder for plugins that must be written out; "" is a temporary one, which
// serves plugins that are only built.
func (s *shell) makePlugins(ctx context.Context, source bundle.Source, work, cache string, names []string) (made []bundle.Made, err error) {
	describe, err := describingBy(cache)
	if err != nil {
		return nil, err
	}
	if work == "" {
		if work, err = os.MkdirTemp("", "portcullis-plugins-"); err != nil {
			return nil, err
		}
		defer closing(&err, func() error { return os.RemoveAll(work) })
	}
	progress := console.NewProgress(s.proc.Err, time.Now)
	defer progress.Close()
	made, err = source.Make(ctx, bundle.Options{Work: work, Describe: describe, Step: func(line string) { progress.Step("%s", line) }}, names...)
	for i, m := range made {
		if m.Built {
			continue // describing it has compiled it
		}
		progress.Step("plugin %d of %d: %s: making its machine code ready", i+1, len(made), m.Name)
		wasm, err := readAtMost(filepath.Join(m.Dir, m.Manifest.Wasm.File), manifest.MaxWasmBytes)
		if err == nil {
			_, err = describe(ctx, wasm)
		}
		if err != nil {
			return nil, err
		}
	}
	return made, err
}

// describeProblem tells why a plugin did not describe itself. The sdk answers with the mistakes of sdk.Register as its
// error text; anything else broke off, and of that the first line is the reason and the rest a stack.
func describeProblem(out sandbox.Outcome) *console.Problem {
	p := &console.Problem{
		Code: "describe_failed", Message: "the plugin cannot say what it is: it ended with " + string(out.Status), Exit: console.ExitNo,
		Remedy: "mend what its init does (`go test` in its folder runs the same code) and build it again",
	}
	words := strings.Split(out.Text, `\n`) // the sandbox writes line breaks as this
	switch {
	case out.Text == "":
	case out.Status == sandbox.GuestError:
		p.Message = strings.TrimPrefix(strings.Join(words, "\n"), "sdk: ")
		p.Remedy = "mend that in what sdk.Register is given and build it again"
	default:
		p.Message += "; it said: " + words[0]
	}
	return p
}
