package wasmbin

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// moduleDir is where the module cache keeps a dependency.
func moduleDir(t testing.TB, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// wasmFiles calls f for each .wasm file below the directories.
func wasmFiles(t testing.TB, f func(path string, wasm []byte), dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".wasm" {
				return err
			}
			wasm, err := os.ReadFile(path)
			if err == nil {
				f(path, wasm)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// specDirs hold the specification's tests.
func specDirs(t testing.TB) []string {
	return []string{filepath.Join(moduleDir(t, "github.com/tetratelabs/wazero"), "internal", "integration_test", "spectest")}
}

// realDirs hold modules that ordinary toolchains made; the bundled plugins are
// there once they were built.
func realDirs(t testing.TB) []string {
	dirs := []string{
		filepath.Join(moduleDir(t, "github.com/extism/go-sdk"), "wasm"),
		filepath.Join("..", "testdata"),
	}
	if built := filepath.Join("..", "..", "..", ".build", "guests"); isDir(built) {
		dirs = append(dirs, built)
	}
	return dirs
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// wide are limits that let the specification's tests through.
func wide() Limits {
	l := DefaultLimits()
	l.Features = AllFeatures
	l.TableGrow, l.TableEntries, l.Tables, l.Tags = true, 1<<40, 1000, 1000
	l.Values, l.BlockValues, l.BranchTable = 1000, 1_000_000, 100_000
	return l
}
