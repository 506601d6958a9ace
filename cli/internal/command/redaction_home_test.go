package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
	"github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/plugin"
)

// kept is the secret of the vault: 25 bytes with everything that is ever escaped.
const kept = `q7Vd/9+xK"2&p<L'm%3Zt=hRw`

// nest is a home with the plugin parrot, a secret in its vault, and everything that was said over it.
type nest struct {
	t    *testing.T
	home app.Home
	work string // the workspace, outside of the home
	env  map[string]string
	last id.Turn      // of the last call
	said bytes.Buffer // all output and logs of the programs and hosts over this home
}

func newNest(t *testing.T) *nest {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	n := &nest{t: t, work: t.TempDir(), home: app.Home{Path: dir}, env: map[string]string{app.HomeVariable: dir, app.CacheVariable: conformancetest.CacheDir(t)}}
	parrot := conformancetest.Build(t, filepath.Join(conformancetest.Root(t), "conformance", "guests", "parrot"), "parrot")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	in, err := plugin.At(dir).Install(t.Context(), parrot)
	if err != nil {
		t.Fatal(err)
	}
	n.write(core.HostFile, string(core.DefaultHostConfig().Bytes))
	n.write("cores/assistant/agent.yaml", fmt.Sprintf("schema_version: 1\nagent: {id: assistant}\nmodel: {provider: scripted, script: script.yaml}\n"+
		"plugins:\n  - {id: %s, version: %q, digest: %q}\ncapabilities: [\"tool.call:*\", \"net.fetch:parrot.example\", process.exec]\nprocess: {programs: [cat]}\n", in.ID, in.Version, in.Digest))
	n.write("cores/assistant/agent/soul.md", "You are a test.\n")
	n.write("cores/assistant/agent/script.yaml", "version: 1\nsteps: [{say: nothing}]\n")
	n.succeeds(strings.NewReader(kept), "secrets", "set", "KEPT")
	n.succeeds(nil, "plugin", "grant", "parrot", "net.fetch:parrot.example")
	return n
}

func (n *nest) write(path, text string) {
	n.t.Helper()
	path = n.home.Join(filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// main runs one command line as the program would and returns what it printed.
func (n *nest) main(in io.Reader, args ...string) (code int, printed string) {
	n.t.Helper()
	if in == nil {
		in = strings.NewReader("")
	}
	var out bytes.Buffer
	p := console.Process{In: in, Out: &out, Err: &out, Env: func(name string) string { return n.env[name] }, Dir: n.home.Path}
	code = Main(n.t.Context(), append([]string{"portcullis"}, args...), p)
	n.said.Write(out.Bytes())
	return code, out.String()
}

func (n *nest) succeeds(in io.Reader, args ...string) string {
	n.t.Helper()
	code, printed := n.main(in, args...)
	if code != console.ExitDone {
		n.t.Fatalf("%q: exit code %d\n%s", args, code, printed)
	}
	return printed
}

// yes is a person who allows everything once.
type yes struct{}

func (yes) Prompt(context.Context, approval.Question) (approval.Answer, error) {
	return approval.Answer{State: approval.Allowed, Reach: approval.Once, By: authority.OperatorID}, nil
}

// open opens the host of the home as a command does; log gets what is logged. It is closed by the caller.
func (n *nest) open(log io.Writer, asJSON bool) *app.Running {
	n.t.Helper()
	h, err := n.home.OpenHost(n.t.Context(), app.HostOptions{
		Command: "test", CacheDir: n.env[app.CacheVariable], LogLevel: "debug", LogJSON: asJSON,
		Prompter: yes{}, LogTo: console.Escaping(io.MultiWriter(log, &n.said)),
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return h
}
