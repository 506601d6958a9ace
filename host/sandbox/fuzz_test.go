package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Whatever bytes a guest hands to an ability, the answer is one that its SDK
// can read, nothing outside the workspace changes, and budgets hold.
func FuzzServe(f *testing.F) {
	base := f.TempDir()
	if err := os.WriteFile(filepath.Join(base, "secret.txt"), []byte("outside"), 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, "ws"), 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.Symlink("../secret.txt", filepath.Join(base, "ws", "out")); err != nil {
		f.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(base, "ws"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { root.Close() })
	for i := range sandbox.AbilityNames() {
		for _, header := range []string{`{"path":"a","mode":"replace","from":"a","to":"../b","key":"k","url":"http://x","method":"GET"}`, `{"path":"out"}`, `{"path":"../secret.txt","mode":"replace"}`, `{"path":"out","mode":"append"}`, `{"key":"k","if_version":0}`, `{"from":"out","to":"b"}`} {
			f.Add(uint8(i), frame(header, "body"))
		}
		f.Add(uint8(i), []byte(`{"n":16,"level":"info","message":"m"}`))
	}
	names := sandbox.AbilityNames()
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		fn := names[int(which)%len(names)]
		limits := small()
		limits.FileBytes = 1 << 10
		s := sandbox.NewSession(limits, sandbox.CallOptions{
			Abilities: everything, Workspace: root, KV: newMemKV(),
			HTTP: doer(func(_ context.Context, _ wire.HTTPRequest, body []byte) (wire.HTTPReply, []byte, error) {
				return wire.HTTPReply{Status: 200}, body, nil
			}),
		}, nil, zeros{})
		if fn == wire.ImportNow || fn == wire.ImportEmit {
			return // they look at the clock and at nothing else
		}
		reply, err := s.Serve(t.Context(), fn, in)
		if err != nil {
			t.Fatalf("%s ended the guest: %v", fn, err)
		}
		if imp, _ := wire.LookupImport(wire.ModuleHost, fn); imp.Needs != "" {
			header, body, err := wire.SplitFrame(reply)
			if err != nil {
				t.Fatalf("%s answered no frame: %v", fn, err)
			}
			var ack struct {
				Fault *wire.Fault `json:"fault"`
			}
			if strings.Contains(string(header), `"fault"`) {
				if err := decode(header, &ack); err != nil || ack.Fault.Check() != nil || len(body) != 0 {
					t.Fatalf("%s answered the fault %q: %v", fn, header, err)
				}
			}
		}
		if s.Stats().FileBytes > 1<<10 {
			t.Fatalf("%d file bytes", s.Stats().FileBytes)
		}
		secret, err := os.ReadFile(filepath.Join(base, "secret.txt"))
		if err != nil || string(secret) != "outside" {
			t.Fatalf("%s reached the file outside: %q %v", fn, secret, err)
		}
		if around, err := os.ReadDir(base); err != nil || len(around) != 2 {
			t.Fatalf("%s left something outside: %v %v", fn, around, err)
		}
	})
}
