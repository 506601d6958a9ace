package conformance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/conformance/conformancetest"
)

// maxMinimalTool is what a guest with one typed tool may weigh, in bytes. A
// guest of nothing but Go's runtime and a context.Context has 1.53 MB when it
// is built the same way. The rest is package sdk: what goes over this line is
// loaded and compiled with every plugin.
const maxMinimalTool = 2_080_000

func TestAMinimalToolIsSmall(t *testing.T) {
	dir := filepath.Join(conformancetest.Root(t), "conformance", "guests", "echo")
	info, err := os.Stat(filepath.Join(conformancetest.Build(t, dir, "echo"), "echo.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a minimal tool has %d bytes", info.Size())
	if info.Size() > maxMinimalTool {
		t.Errorf("a minimal tool has %d bytes, at most %d are allowed: see what package sdk imports since", info.Size(), maxMinimalTool)
	}
}

// The packages that made a guest of 3.75 MB stay out of it, import by import.
func TestAMinimalToolImportsNothingHeavy(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./guests/echo")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"/sdk/internal/codec") {
		t.Fatalf("the list is not of a guest: %q", deps)
	}
	for _, heavy := range []string{"encoding/json", "encoding/base64", "encoding/binary", "fmt", "os", "regexp", "sort", "text/template", "net/http"} {
		if slices.Contains(deps, heavy) {
			t.Errorf("a minimal tool links %s", heavy)
		}
	}
}
