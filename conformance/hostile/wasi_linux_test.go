package hostile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
)

// The numbers of WASI preview 1 that these guests answer with.
const (
	errNotHere = `"said":63}` // not permitted: a path with .. is not even looked up
	errBadFile = `"said":8}`
	errFault   = `"said":21}`
	errNoSys   = `"said":52}`
	nothing    = `"said":0}`
)

// wasiGuests look for what a WASI host could have left open.
func wasiGuests() []guest {
	said := func(name, says string) guest { return guest{name: name, status: effect.Succeeded, says: says} }
	return []guest{
		said("path-open", errNotHere),
		said("path-symlink", errBadFile),
		said("path-write", errBadFile),
		said("environ", nothing),
		said("args", nothing),
		{name: "clock-flood", status: effect.TimedOut, reason: "deadline"},
		said("random-out-of-range", errFault),
		said("prestat", errBadFile),
		{name: "exit", status: effect.Failed, reason: "guest_exited", says: "exit_0"},
		{name: "exit-at-start", status: effect.Failed, reason: "guest_exited", says: "exit_0"},
		said("raise", errNoSys),
		said("sock", errBadFile),
		{name: "poll-hour", status: effect.TimedOut, reason: "deadline"},
		{name: "poll-many", status: effect.Failed, reason: "limit_passed", says: "wasi_subscriptions"},
		{name: "stdout", play: withOwnStreams, status: effect.Succeeded, says: `"ok":true`},
		{name: "stdin", play: withOwnStreams, status: effect.Succeeded, says: nothing},
		{name: "close-all", status: effect.Succeeded, says: `"ok":true`},
		{name: "write-vectors", status: effect.Failed, reason: "limit_passed", says: "wasi_buffers"},
		{name: "yield-flood", status: effect.TimedOut, reason: "deadline"},
	}
}

// withOwnStreams calls the guest while the standard streams of the process are files, of which the guest must neither
// see nor change any.
func withOwnStreams(t *testing.T, w *world, p installed) answer {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte("typed by the operator"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	wasIn, wasOut, wasErr := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = stdin, stdout, stdout
	got := w.call(t, p, p.guest.args)
	os.Stdin, os.Stdout, os.Stderr = wasIn, wasOut, wasErr
	if written, err := os.ReadFile(out); err != nil || len(written) > 0 {
		t.Errorf("the guest wrote %q to the streams of the host (%v)", written, err)
	}
	if at, err := stdin.Seek(0, 1); err != nil || at != 0 {
		t.Errorf("the guest read %d bytes of the standard input of the host (%v)", at, err)
	}
	return got
}
