package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/cli/internal/console"
)

func problemCode(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var p *console.Problem
	if !errors.As(err, &p) {
		t.Fatalf("%v is not a Problem", err)
	}
	return p.Code
}

func TestHomeIsTheFlagThenTheVariableThenTheUsers(t *testing.T) {
	for name, c := range map[string]struct {
		flag string
		env  map[string]string
		want string
	}{
		"flag":          {"/f", map[string]string{HomeVariable: "/v", "HOME": "/u"}, "/f"},
		"relative flag": {"f/../g", nil, "/started/g"},
		"variable":      {"", map[string]string{HomeVariable: "/v", "HOME": "/u"}, "/v"},
		"user":          {"", map[string]string{"HOME": "/u"}, "/u/.portcullis"},
		"of that name":  {"./~", nil, "/started/~"},
		"backup":        {"~old/x", nil, "/started/~old/x"},
	} {
		got, err := FindHome(c.flag, func(k string) string { return c.env[k] }, "/started")
		if err != nil || got.Path != filepath.FromSlash(c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got.Path, err, c.want)
		}
	}
	_, err := FindHome("", func(string) string { return "" }, "/started")
	if got := problemCode(t, err); got != "no_home" {
		t.Errorf("without $HOME: %v", err)
	}
	for _, quoted := range []string{"~", "~/x"} { // which a shell did not put a folder in place of
		_, err := FindHome("", func(string) string { return quoted }, "/started")
		if got := problemCode(t, err); got != "home_tilde" {
			t.Errorf("%s: %v", quoted, err)
		}
	}
}

func TestOnlyAHomeOfOnesOwnIsAccepted(t *testing.T) {
	h := Home{filepath.Join(t.TempDir(), "a", "home")}
	if got := problemCode(t, h.Check()); got != "home_missing" {
		t.Errorf("missing home: %q", got)
	}
	if err := h.Make(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(h.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for mode, want := range map[os.FileMode]string{0o700: "", 0o750: "home_open_to_others", 0o701: "home_open_to_others", 0o500: "home_closed", 0o000: "home_closed"} {
		if err := os.Chmod(h.Path, mode); err != nil {
			t.Fatal(err)
		}
		if got := problemCode(t, h.Make()); got != want {
			t.Errorf("mode %o: %q, want %q", mode, got, want)
		}
		if info, err := os.Stat(h.Path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("mode %o of a home that was there became %v, %v", mode, info.Mode(), err)
		}
	}
	file := Home{filepath.Join(t.TempDir(), "file")}
	if err := os.WriteFile(file.Path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := problemCode(t, file.Make()); got != "home_not_a_folder" {
		t.Errorf("a file as home: %q", got)
	}
}

func TestOneProcessAtATimeHoldsTheLock(t *testing.T) {
	h := Home{t.TempDir()}
	if by, err := h.LockedBy(); by != "" || err != nil {
		t.Fatalf("free home: %q, %v", by, err)
	}
	if _, err := os.Stat(h.Join(lockName)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("looking made a lock file: %v", err)
	}
	lock, err := h.TakeLock("chat")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.TakeLock("run")
	if got := problemCode(t, err); got != "home_busy" || !strings.Contains(err.Error(), "`portcullis chat`") {
		t.Errorf("second lock: %v", err)
	}
	if by, err := h.LockedBy(); !strings.Contains(by, "portcullis chat") || err != nil {
		t.Errorf("held home: %q, %v", by, err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if by, err := h.LockedBy(); by != "" || err != nil {
		t.Errorf("released home: %q, %v", by, err)
	}
	again, err := h.TakeLock("run")
	if err != nil {
		t.Fatalf("lock after release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}
