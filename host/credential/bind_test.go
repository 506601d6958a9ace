package credential_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/credential"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/event"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/secret"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/store/memory"
)

const value = "ghp-like-0123456789"

// bench is a vault in a home, a clock that a test sets, and a binder over both.
type bench struct {
	t      *testing.T
	home   string
	now    time.Time
	env    map[string]string
	vault  *secret.Vault
	ids    *id.Source
	store  *memory.Store
	kept   []event.Record
	broken bool // the audit
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, home: t.TempDir(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), env: map[string]string{}}
	b.vault = secret.At(b.home, b.clock)
	b.ids = id.NewSource(b.clock, rand.Reader)
	b.store = memory.New(memory.Config{Clock: b.clock, IDs: b.ids})
	return b
}

func (b *bench) clock() time.Time { return b.now }

func (b *bench) Record(_ context.Context, r event.Record) error {
	if b.broken {
		return errors.New("disk full")
	}
	b.kept = append(b.kept, r)
	return nil
}

func (b *bench) set(name secret.Name, c secret.Content) {
	b.t.Helper()
	if _, err := b.vault.Set(b.t.Context(), name, c); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) binder() *credential.Binder {
	lookup := func(name string) (string, bool) { v, ok := b.env[name]; return v, ok }
	return credential.NewBinder(secret.Reader{Home: b.home, Lookup: lookup, Vault: b.vault, Clock: b.clock}, b, b.ids, b.clock)
}

// wanted is a call of plugin mail whose core and plugin have the given grants.
func (b *bench) wanted(core, plugin []string, names ...string) effect.Wanted {
	b.t.Helper()
	return effect.Wanted{
		Effect: b.ids.Effect(), Tool: "mail.send", Turn: b.turn(core...), Plugin: "mail", Granted: grants(b.t, plugin...), Names: names,
	}
}

func (b *bench) turn(capabilities ...string) binding.Turn {
	b.t.Helper()
	resolver := authority.NewResolver(b.store, b.store, b.clock, b.ids)
	b.t.Cleanup(resolver.Close)
	session, req, turn := b.ids.Session(), b.ids.Request(), b.ids.Turn()
	scope, err := resolver.Suppose(session)
	if err != nil {
		b.t.Fatal(err)
	}
	token := binding.Token{ID: b.ids.Token(), Request: req, Turn: turn, Session: session}
	bound, err := binding.New(binding.Spec{
		Request: req, Turn: turn, Session: session, Principal: scope, Trace: b.ids.Trace(),
		Core:  binding.Core{ID: "assistant", Revision: "sha256:r", Capabilities: grants(b.t, capabilities...)},
		Route: token, Admission: token, Cancellation: token,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return bound
}

func grants(t *testing.T, texts ...string) capability.Snapshot {
	t.Helper()
	s, err := capability.ParseSnapshot(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func both(names ...string) []string {
	var out []string
	for _, n := range names {
		out = append(out, "secret.bind:"+n)
	}
	return out
}

func TestACallGetsTheValuesAsTheyAreNowAndItIsOnRecord(t *testing.T) {
	b := newBench(t)
	b.set("MAIL_TOKEN", secret.Content{Value: value, Expires: b.now.Add(time.Hour)})
	b.set("ENV_KEY", secret.Content{From: secret.Ref{Source: secret.FromEnv, Name: "KEY"}})
	b.set("FILE_KEY", secret.Content{From: secret.Ref{Source: secret.FromFile, Name: "key.txt"}})
	b.env["KEY"] = "value-of-the-variable"
	if err := os.WriteFile(filepath.Join(b.home, "key.txt"), []byte("value-of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{"ENV_KEY", "FILE_KEY", "MAIL_TOKEN"}
	w := b.wanted(both(names...), both(names...), names...)
	bound, no, err := b.binder().Bind(t.Context(), w)
	if err != nil || !no.Zero() || !slices.Equal(bound.Names(), names) || !bound.Until().Equal(b.now.Add(time.Hour)) {
		t.Fatalf("%v %+v %v until %v", bound, no, err, bound.Until())
	}
	for name, want := range map[string]string{"ENV_KEY": "value-of-the-variable", "FILE_KEY": "value-of-the-file", "MAIL_TOKEN": value} {
		if got, ok := bound.Value(name); !ok || got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got, ok := bound.Value("OTHER"); ok || got != "" {
		t.Error("a name that was not bound has a value")
	}
	if len(b.kept) != 1 {
		t.Fatalf("%d records", len(b.kept))
	}
	r := b.kept[0]
	if r.Kind != event.SecretBound || r.Effect != w.Effect || r.Field("secrets") != "ENV_KEY FILE_KEY MAIL_TOKEN" || r.Field("tool") != "mail.send" || r.Field("plugin") != "mail" {
		t.Errorf("record %+v", r)
	}
	for _, shown := range []string{fmt.Sprintf("%v %+v %#v %s", bound, bound, bound, bound), fmt.Sprintf("%+v", effect.Call{Secrets: bound}), fmt.Sprintf("%+v", r)} {
		if strings.Contains(shown, value) || strings.Contains(shown, "value-of") {
			t.Errorf("%s shows a value", shown)
		}
	}

	// what is changed counts from the next call on
	if err := b.vault.Rotate(t.Context(), "MAIL_TOKEN", secret.Content{Value: "another-value-1"}); err != nil {
		t.Fatal(err)
	}
	bound, no, err = b.binder().Bind(t.Context(), w)
	if got, _ := bound.Value("MAIL_TOKEN"); err != nil || !no.Zero() || got != "another-value-1" {
		t.Errorf("after a rotation %q, %+v, %v", got, no, err)
	}
}

// Each reason alone keeps every secret of the call back.
func TestWhatIsNotBound(t *testing.T) {
	many := make([]string, credential.MaxSecrets+1)
	for i := range many {
		many[i] = fmt.Sprintf("KEY_%02d", i)
	}
	good := func(b *bench) { b.set("MAIL_TOKEN", secret.Content{Value: value}) }
	mail := both("MAIL_TOKEN")
	for name, c := range map[string]struct {
		setup        func(b *bench)
		core, plugin []string
		names        []string
		reason       string
		says         string
		remedy       string
	}{
		"more than sixteen": {good, both(many...), both(many...), many, credential.TooMany, "needs 17 secrets, and a call gets at most 16", ""},
		"a name that steers": {
			good, both("LD_PRELOAD"), both("LD_PRELOAD"),
			[]string{"LD_PRELOAD"},
			credential.Reserved, "LD_PRELOAD", "",
		},
		"not in the core": {good, nil, mail, nil, credential.NotInCore, `add "secret.bind:MAIL_TOKEN" to capabilities in cores/assistant/agent.yaml`, "portcullis plugin grant mail secret.bind:MAIL_TOKEN --core assistant"},
		"another in the core": {
			good, both("MAIL_TOKEN2", "MAIL"), mail, nil,
			credential.NotInCore, "does not list it", "portcullis plugin grant mail secret.bind:MAIL_TOKEN --core assistant",
		},
		"not granted": {good, mail, both("OTHER"), nil, credential.NotGranted, "plugin mail is not granted it", "portcullis plugin grant mail secret.bind:MAIL_TOKEN"},
		"not kept":    {func(*bench) {}, mail, mail, nil, credential.Missing, "not kept here: `portcullis secrets set MAIL_TOKEN`", "portcullis secrets set MAIL_TOKEN"},
		"expired": {
			func(b *bench) {
				b.set("MAIL_TOKEN", secret.Content{Value: value, Expires: b.now.Add(time.Minute)})
				b.now = b.now.Add(time.Minute)
			}, mail, mail, nil,
			credential.Expired, "expired on 2026-01-02: `portcullis secrets rotate MAIL_TOKEN`", "portcullis secrets rotate MAIL_TOKEN",
		},
		"a variable that is not set": {
			func(b *bench) {
				b.set("MAIL_TOKEN", secret.Content{From: secret.Ref{Source: secret.FromEnv, Name: "KEY"}})
			}, mail, mail, nil,
			credential.Missing, "env:KEY is not set", "portcullis secrets set MAIL_TOKEN",
		},
		"a file that others read": {
			func(b *bench) {
				b.set("MAIL_TOKEN", secret.Content{From: secret.Ref{Source: secret.FromFile, Name: "key.txt"}})
				if err := os.WriteFile(filepath.Join(b.home, "key.txt"), []byte(value), 0o644); err != nil {
					b.t.Fatal(err)
				}
			}, mail, mail, nil,
			credential.Unreadable, "key.txt can be read by other users; run: chmod 600 /", "portcullis secrets set MAIL_TOKEN",
		},
		"a short variable": {
			func(b *bench) {
				b.set("MAIL_TOKEN", secret.Content{From: secret.Ref{Source: secret.FromEnv, Name: "KEY"}})
				b.env["KEY"] = "seven77"
			}, mail, mail, nil,
			credential.TooShort, "has fewer than 8 characters", "portcullis secrets rotate MAIL_TOKEN",
		},
		"a plain variable": {
			func(b *bench) {
				b.set("MAIL_TOKEN", secret.Content{From: secret.Ref{Source: secret.FromEnv, Name: "KEY"}})
				b.env["KEY"] = "aaaaaaaaaaaa"
			}, mail, mail, nil,
			credential.NotHidable, "repeats one or two characters", "portcullis secrets rotate MAIL_TOKEN",
		},
		"a damaged file": {
			func(b *bench) {
				good(b)
				if err := os.Truncate(filepath.Join(b.home, secret.FileName), 10); err != nil {
					b.t.Fatal(err)
				}
			}, mail, mail, nil,
			credential.BrokenFile, "restore both files from one backup", "portcullis doctor",
		},
		"one of two": {good, both("MAIL_TOKEN", "ZZ_KEY"), both("MAIL_TOKEN", "ZZ_KEY"), []string{"MAIL_TOKEN", "ZZ_KEY"}, credential.Missing, "ZZ_KEY", "portcullis secrets set ZZ_KEY"},
		"no record":  {func(b *bench) { good(b); b.broken = true }, mail, mail, nil, credential.NotRecorded, "could not be recorded", "portcullis store check"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c.setup(b)
			if c.names == nil {
				c.names = []string{"MAIL_TOKEN"}
			}
			bound, no, err := b.binder().Bind(t.Context(), b.wanted(c.core, c.plugin, c.names...))
			if err != nil || no.Reason != c.reason || !strings.Contains(no.Why, c.says) || no.Remedy != c.remedy {
				t.Errorf("%+v, %v", no, err)
			}
			if len(bound.Names()) > 0 || len(b.kept) > 0 {
				t.Errorf("bound %v, recorded %v", bound, b.kept)
			}
			if strings.Contains(no.Why, value) || strings.Contains(no.Why, "seven77") {
				t.Errorf("the refusal shows the value: %s", no.Why)
			}
		})
	}
}

func TestABuiltinNeedsTheCoreAlone(t *testing.T) {
	b := newBench(t)
	b.set("MAIL_TOKEN", secret.Content{Value: value})
	w := b.wanted(both("MAIL_TOKEN"), nil, "MAIL_TOKEN")
	w.Plugin = ""
	if bound, no, err := b.binder().Bind(t.Context(), w); err != nil || !no.Zero() || len(bound.Names()) != 1 {
		t.Errorf("%v %+v %v", bound, no, err)
	}
}

func TestADiskThatFailsIsNoRefusal(t *testing.T) {
	b := newBench(t)
	b.set("MAIL_TOKEN", secret.Content{Value: value})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	bound, no, err := b.binder().Bind(ctx, b.wanted(both("MAIL_TOKEN"), both("MAIL_TOKEN"), "MAIL_TOKEN"))
	if !errors.Is(err, context.Canceled) || !no.Zero() || len(bound.Names()) > 0 {
		t.Errorf("%v %+v %v", bound, no, err)
	}
}
