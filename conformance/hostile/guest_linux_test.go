package hostile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// guest is one hostile plugin and what must become of it. The zero value of a field is the ordinary case.
type guest struct {
	name string // of the plugin, and of its file in ../guests/hostile/<class>
	file string // another file's name, or <class>/<name>
	// wasm makes the module instead of reading it from a file.
	wasm func() []byte
	// edit changes plugin.json after it was made of the module.
	edit func(m *manifest.Manifest)
	// withheld are the capabilities that the operator does not grant.
	withheld []string
	// args are the arguments of the call; SERVER in them is the address of a local server. Empty: {}.
	args string
	// deadline is the plugin's own; 0 is 400 ms for a guest that is to pass it, and 30 s for any other.
	deadline time.Duration
	// play calls the guest otherwise than once with args.
	play func(t *testing.T, w *world, p installed) answer

	status effect.Status
	reason string
	says   string   // part of what is shown: the sentence or a view
	hides  []string // nothing that is shown has any of these
}

// What may become of a plugin that never gets as far as an effect.
const (
	refused  effect.Status = "refused"  // not installed; reason is the code of the refusal
	rejected effect.Status = "rejected" // installed, and its core's turn ends before any effect
)

// class is one kind of hostility.
type class struct {
	name   string
	least  int // guests
	guests []guest
}

func classes() []class {
	return []class{
		{"resource", 20, resourceGuests()},
		{"abi", 14, abiGuests()},
		{"wasi", 12, wasiGuests()},
		{"authority", 18, authorityGuests()},
		{"binary", 10, binaryGuests()},
	}
}

// tool is the name of the guest's tool.
func (g *guest) tool() string { return "hostile." + strings.ReplaceAll(g.name, "-", "_") }

func (g *guest) limit() time.Duration {
	switch {
	case g.deadline != 0:
		return g.deadline
	case g.status == effect.TimedOut:
		return 400 * time.Millisecond
	}
	return 30 * time.Second // machines are busy
}

// module is the guest's binary.
func (g *guest) module(t *testing.T, class string) []byte {
	t.Helper()
	if g.wasm != nil {
		return g.wasm()
	}
	file := class + "/" + g.name
	switch {
	case strings.Contains(g.file, "/"):
		file = g.file
	case g.file != "":
		file = class + "/" + g.file
	}
	wasm, err := os.ReadFile(filepath.Join("..", "guests", "hostile", filepath.FromSlash(file)+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
