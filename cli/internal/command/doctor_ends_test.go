package command

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/cli/internal/app"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/host/core"
)

// A check that an interrupt kept from looking says nothing of the home: it would be told to mend what is sound.
func TestAnInterruptedDoctorFindsNoFaults(t *testing.T) {
	home := app.Home{Path: filepath.Join(t.TempDir(), "home")}
	if err := home.Make(); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(core.Default(nil), core.DefaultHostConfig()) {
		if _, err := home.Put(f.Path, f.Bytes, f.Mode, false); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, notes bytes.Buffer
	p := console.Process{In: strings.NewReader(""), Out: &out, Err: &notes, Env: func(string) string { return "" }, Dir: home.Path}
	code := Main(ctx, []string{"portcullis", "--home", home.Path, "doctor"}, p)
	if code != console.ExitNo || out.Len() > 0 || !strings.Contains(notes.String(), "interrupted before it was done") {
		t.Errorf("exit code %d, %q, %q", code, out.String(), notes.String())
	}
}
