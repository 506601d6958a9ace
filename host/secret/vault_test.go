package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/policy/redact"
)

const value = "hunter2-but-longer"

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func reader(v *Vault, home string) Reader {
	env := func(name string) (string, bool) {
		got, ok := map[string]string{"KEY": "from-the-environment", "EMPTY": "", "LINES": "a\nb"}[name]
		return got, ok
	}
	return Reader{Home: home, Lookup: env, Vault: v, Clock: v.clock}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestASecretIsKeptEncryptedAndGivenBack(t *testing.T) {
	home := t.TempDir()
	v := At(home, start)
	made, err := v.Set(t.Context(), "MAIL_TOKEN", Content{Value: value})
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	if got, err := reader(At(home, start), home).Read(t.Context(), Ref{FromVault, "MAIL_TOKEN"}); err != nil || got != value {
		t.Errorf("read %q, %v", got, err)
	}
	for _, name := range []string{FileName, IdentityName} {
		data, err := os.ReadFile(filepath.Join(home, name))
		info, statErr := os.Stat(filepath.Join(home, name))
		if err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, mode %v", name, err, statErr, info.Mode())
		}
		if bytes.Contains(data, []byte(value)) || bytes.Contains(data, []byte("MAIL_TOKEN")) {
			t.Errorf("%s shows the secret or its name", name)
		}
	}
	all, err := v.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "MAIL_TOKEN" || !all[0].Set.Equal(start()) || !all[0].Rotated.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	if text := fmt.Sprintf("%+v %#v", all, all); strings.Contains(text, value) {
		t.Error("the list prints the value")
	}
}

func TestRotatingAndRemoving(t *testing.T) {
	home := t.TempDir()
	now := start()
	v := At(home, func() time.Time { return now })
	if err := v.Rotate(t.Context(), "A_KEY", Content{Value: value}); !errors.Is(err, ErrUnknown) {
		t.Errorf("rotating what is not there: %v", err)
	}
	_, err := v.Set(t.Context(), "A_KEY", Content{Value: value})
	must(t, err)
	_, err = v.Set(t.Context(), "B_KEY", Content{From: Ref{FromEnv, "KEY"}})
	must(t, err)
	now = now.Add(time.Hour)
	must(t, v.Rotate(t.Context(), "A_KEY", Content{Value: value + "2", Expires: now.Add(time.Hour)}))
	must(t, v.RotateIdentity(t.Context()))
	r := reader(v, home)
	for name, want := range map[string]string{"A_KEY": value + "2", "B_KEY": "from-the-environment"} {
		if got, err := r.Read(t.Context(), Ref{FromVault, name}); err != nil || got != want {
			t.Errorf("%s = %q, %v", name, got, err)
		}
	}
	all, err := v.List(t.Context())
	if err != nil || len(all) != 2 || !all[0].Rotated.Equal(now) || !all[0].Set.Equal(start()) {
		t.Errorf("%+v, %v", all, err)
	}
	now = now.Add(time.Hour)
	var gone *UnavailableError
	if got, err := r.Read(t.Context(), Ref{FromVault, "A_KEY"}); got != "" || !errors.As(err, &gone) || !strings.Contains(gone.Want, "secrets rotate A_KEY") {
		t.Errorf("an expired secret: %q, %v", got, err)
	}
	if ok, err := v.Remove(t.Context(), "A_KEY"); err != nil || !ok {
		t.Errorf("removing: %v, %v", ok, err)
	}
	if ok, err := v.Remove(t.Context(), "A_KEY"); err != nil || ok {
		t.Errorf("removing again: %v, %v", ok, err)
	}
	if _, err := r.Read(t.Context(), Ref{FromVault, "A_KEY"}); !errors.As(err, &gone) || !strings.Contains(gone.Want, "secrets set A_KEY") {
		t.Errorf("a removed secret: %v", err)
	}
}

func TestARotationCutShortLosesNothing(t *testing.T) {
	home := t.TempDir()
	v := At(home, start)
	_, err := v.Set(t.Context(), "A_KEY", Content{Value: value})
	must(t, err)
	before, err := os.ReadFile(filepath.Join(home, FileName))
	must(t, err)
	old, err := v.fileIdentities()
	must(t, err)
	must(t, v.RotateIdentity(t.Context()))
	next, err := v.fileIdentities()
	must(t, err)
	after, err := os.ReadFile(filepath.Join(home, FileName))
	must(t, err)
	must(t, v.writeIdentities(t.Context(), old[0], next[0])) // as between the first and the last rename
	for i, sealed := range [][]byte{before, after} {
		must(t, replace(filepath.Join(home, FileName), sealed))
		if got, err := reader(v, home).Read(t.Context(), Ref{FromVault, "A_KEY"}); err != nil || got != value {
			t.Errorf("file %d: %q, %v", i, got, err)
		}
	}
	must(t, v.writeIdentities(t.Context(), old...)) // the file is the new one
	if _, err := v.List(t.Context()); err == nil {
		t.Error("the old identity still opens the new file")
	}
}

func TestWhatIsNotKept(t *testing.T) {
	v := At(t.TempDir(), start)
	var refused *redact.RefusedError
	for _, bad := range []string{"", "short", "aaaaaaaaaaaa", strings.Repeat("x1y", redact.MaxValue)} {
		if _, err := v.Set(t.Context(), "A_KEY", Content{Value: bad}); !errors.As(err, &refused) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if _, err := v.Set(t.Context(), "A_KEY", Content{Value: value, Expires: start()}); err == nil {
		t.Error("an expiry that has passed is kept")
	}
	if all, err := v.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestNamesThatSteerAProcessAreReserved(t *testing.T) {
	for _, bad := range []string{
		"", "1A", "A-B", "A B", "É", strings.Repeat("A", 65), "PATH", "path", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS",
		"GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "BASH_ENV", "PYTHONPATH", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "HTTPS_PROXY", "PORTCULLIS_HOME",
		"SSL_CERT_FILE", "JAVA_TOOL_OPTIONS", "LC_ALL", "SHELL", "IFS", "GOFLAGS",
	} {
		var fault *NameError
		if _, err := ParseName(bad); !errors.As(err, &fault) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"MAIL_TOKEN", "a", "GITHUB_TOKEN", "NPM_TOKEN", "GOOGLE_API_KEY", "_X9"} {
		if _, err := ParseName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

func TestFilesThatCannotBeTrustedAreNotUsed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, home string) string{
		"open vault": func(t *testing.T, home string) string {
			must(t, os.Chmod(filepath.Join(home, FileName), 0o644))
			return "chmod 600"
		},
		"open identity": func(t *testing.T, home string) string {
			must(t, os.Chmod(filepath.Join(home, IdentityName), 0o640))
			return "chmod 600"
		},
		"no identity": func(t *testing.T, home string) string {
			must(t, os.Remove(filepath.Join(home, IdentityName)))
			return "is missing"
		},
		"linked identity": func(t *testing.T, home string) string {
			must(t, os.Rename(filepath.Join(home, IdentityName), filepath.Join(home, "elsewhere")))
			must(t, os.Symlink("elsewhere", filepath.Join(home, IdentityName)))
			return "not a plain file"
		},
		"another identity": func(t *testing.T, home string) string {
			other := t.TempDir()
			_, err := At(other, start).Set(t.Context(), "A_KEY", Content{Value: value})
			must(t, err)
			data, err := os.ReadFile(filepath.Join(other, IdentityName))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(home, IdentityName), data, 0o600))
			return "was not encrypted to the identity"
		},
		"nonsense identity": func(t *testing.T, home string) string {
			must(t, os.WriteFile(filepath.Join(home, IdentityName), []byte(value), 0o600))
			return "holds no age identity"
		},
		"cut vault": func(t *testing.T, home string) string {
			must(t, os.Truncate(filepath.Join(home, FileName), 180))
			return "restore"
		},
		"flipped vault": func(t *testing.T, home string) string {
			data, err := os.ReadFile(filepath.Join(home, FileName))
			must(t, err)
			data[len(data)-3] ^= 1
			must(t, os.WriteFile(filepath.Join(home, FileName), data, 0o600))
			return "is damaged"
		},
		"large vault": func(t *testing.T, home string) string {
			must(t, os.Truncate(filepath.Join(home, FileName), MaxFile+1))
			return "is too large"
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			v := At(home, start)
			_, err := v.Set(t.Context(), "A_KEY", Content{Value: value})
			must(t, err)
			want := spoil(t, home)
			before, err := os.ReadFile(filepath.Join(home, FileName))
			must(t, err)
			var fault *FileError
			if _, err := v.List(t.Context()); !errors.As(err, &fault) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), value) {
				t.Errorf("%v, want %q", err, want)
			}
			if _, err := v.Set(t.Context(), "B_KEY", Content{Value: value}); err == nil {
				t.Error("and was written all the same")
			}
			if after, err := os.ReadFile(filepath.Join(home, FileName)); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

func TestChangesOfManyAreAllKept(t *testing.T) {
	home := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := At(home, start).Set(t.Context(), Name(fmt.Sprintf("KEY_%d", i)), Content{Value: value}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := At(home, start).List(t.Context()); err != nil || len(got) != 8 {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

func TestReferencesAreReadFromTheirPlace(t *testing.T) {
	home := t.TempDir()
	r := reader(At(home, start), home)
	path := filepath.Join(home, "key")
	put := func(text string, mode os.FileMode) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), mode))
		must(t, os.Chmod(path, mode))
	}
	put("in-the-file\r\n", 0o600)
	for ref, want := range map[Ref]string{{FromEnv, "KEY"}: "from-the-environment", {FromFile, "key"}: "in-the-file", {FromFile, path}: "in-the-file"} {
		if got, err := r.Read(t.Context(), ref); err != nil || got != want {
			t.Errorf("%s = %q, %v", ref, got, err)
		}
	}
	put("changed-since", 0o600)
	if got, err := r.Read(t.Context(), Ref{FromFile, "key"}); err != nil || got != "changed-since" {
		t.Errorf("after the change: %q, %v", got, err)
	}
	refused := func(ref Ref, want string) {
		t.Helper()
		var no *UnavailableError
		if got, err := r.Read(t.Context(), ref); got != "" || !errors.As(err, &no) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "changed-") {
			t.Errorf("%s = %q, %v, want %q", ref, got, err, want)
		}
	}
	refused(Ref{FromEnv, "NONE"}, "is not set")
	refused(Ref{FromEnv, "EMPTY"}, "is not set")
	refused(Ref{FromEnv, "LINES"}, "line breaks")
	refused(Ref{FromFile, "none"}, "does not exist")
	refused(Ref{FromFile, "none/key"}, "does not exist")
	refused(Ref{}, "write env:NAME")
	put("changed-mode", 0o644)
	refused(Ref{FromFile, "key"}, "can be read by other users; run: chmod 600")
	put("", 0o600)
	refused(Ref{FromFile, "key"}, "is empty")
	put(strings.Repeat("x", redact.MaxValue+1), 0o600)
	refused(Ref{FromFile, "key"}, "is too large")
	must(t, os.Remove(path))
	must(t, os.Symlink("/etc/hosts", path))
	refused(Ref{FromFile, "key"}, "not a plain file")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, Ref{FromEnv, "KEY"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled read gave %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	good, err := encode(map[Name]kept{"A_KEY": {Entry{Name: "A_KEY", Set: start()}, func() string { return value }}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"secrets":{"B":{"from":"env:KEY","set_at":1}}}`))
	f.Add([]byte(`{"version":1,"secrets":{"PATH":{"value":"x","set_at":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := decode(data)
		if err != nil {
			return
		}
		again, err := encode(all)
		if err != nil {
			t.Fatalf("%q is read and not written: %v", data, err)
		}
		twice, err := decode(again)
		if err != nil || len(twice) != len(all) {
			t.Fatalf("%q became %q: %v", data, again, err)
		}
		for name, e := range all {
			if o := twice[name]; o.Entry != e.Entry || o.value() != e.value() {
				t.Fatalf("%s: %+v became %+v", name, e.Entry, o.Entry)
			}
		}
	})
}

// A text that is no name is told whole or by its length: whoever typed a value there must not find a part of it.
func TestWhatIsNoNameIsNotToldInPart(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for before := range 120 {
		if _, err := ParseName(strings.Repeat("x", before) + secret); err == nil || strings.Contains(strings.ReplaceAll(err.Error(), secret, ""), secret[:3]) {
			t.Fatal(err)
		}
	}
}
