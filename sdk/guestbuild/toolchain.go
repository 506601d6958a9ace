package guestbuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ToolchainError says that there is no Go toolchain to build with.
type ToolchainError struct{ Cause error }

// Error says what to do.
func (e *ToolchainError) Error() string {
	return "guestbuild: no Go toolchain: install Go 1.26 or newer (https://go.dev/dl) and put its go command on PATH, then try again"
}

// Unwrap gives what the look-up said.
func (e *ToolchainError) Unwrap() error { return e.Cause }

// CompileError is what the compiler, or the go command, had to say.
type CompileError struct {
	Dir    string
	Output string // the tool's own lines, as in ./main.go:12:3: undefined: x
}

// Error is the folder and the tool's own lines.
func (e *CompileError) Error() string {
	return "guestbuild: " + e.Dir + " does not build:\n" + e.Output
}

// kept is what of the caller's environment a build sees: where things are and
// how the network is reached, and nothing that changes what is built.
var kept = []string{
	"HOME", "PATH", "TMPDIR", "GOTMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
	"GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT", "GOTOOLCHAIN", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOAUTH", "GOVCS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"SYSTEMROOT", "SystemRoot", "USERPROFILE", "LOCALAPPDATA", "APPDATA", "TEMP", "TMP",
}

// cleanEnv makes the environment of the go command. GOFLAGS is set rather than
// cleared: an empty one would fall back to what "go env -w" wrote.
func cleanEnv(from []string, modFlag string) []string {
	if modFlag == "" {
		modFlag = "-mod=readonly"
	}
	var env []string
	for _, kv := range from {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(kept, name) {
			env = append(env, kv)
		}
	}
	return append(env, "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS="+modFlag)
}

// maxOutput bounds what is kept of a tool's complaints.
const maxOutput = 64 << 10

// run runs the go command in the plugin's folder and returns its stdout. The
// command gets a moment to clean up when ctx ends.
func (b *build) run(ctx context.Context, args ...string) ([]byte, error) {
	path, err := lookGo(b.env)
	if err != nil {
		return nil, &ToolchainError{Cause: err}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill() // a platform without interrupts
		}
		return nil
	}
	cmd.WaitDelay = 5 * time.Second
	var stdout bytes.Buffer
	stderr := &capped{left: maxOutput}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("guestbuild: go %s: %w", args[0], context.Cause(ctx))
		}
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return nil, &CompileError{Dir: b.dir, Output: stderr.lines()}
		}
		return nil, fmt.Errorf("guestbuild: go %s: %w", args[0], err)
	}
	return stdout.Bytes(), nil
}

// lookGo looks on the PATH of env, not on this process's own.
func lookGo(env []string) (string, error) {
	var path string
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // never run what lies in the plugin's own folder
		}
		if found, err := exec.LookPath(filepath.Join(dir, "go")); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

// capped keeps the first bytes written to it and drops the rest.
type capped struct {
	bytes.Buffer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	keep := p[:min(len(p), c.left)]
	c.left -= len(keep)
	c.Buffer.Write(keep)
	return len(p), nil
}

// lines drops the "# package" headings and blank lines.
func (c *capped) lines() string {
	var out []string
	for line := range strings.Lines(c.String()) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, "# ") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// module is where the plugin's module is and what builds it.
type module struct {
	GOMOD, GOWORK, GOVERSION, GOEXPERIMENT, GOWASM string
}

func (b *build) findModule(ctx context.Context) (module, error) {
	var m module
	out, err := b.run(ctx, "env", "-json", "GOMOD", "GOWORK", "GOVERSION", "GOEXPERIMENT", "GOWASM")
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return m, fmt.Errorf("guestbuild: go env: %w", err)
	}
	if m.GOMOD == "" || m.GOMOD == os.DevNull {
		return m, &CompileError{Dir: b.dir, Output: "there is no go.mod in this folder or above it: run `go mod init` there, or `portcullis plugin new` for a fresh plugin; what another toolchain compiled becomes one with `portcullis plugin pack FILE.wasm`"}
	}
	return m, nil
}

// vendorFlag is set when the module carries its dependencies.
func (m module) vendorFlag() string {
	root := filepath.Dir(m.GOMOD)
	if m.GOWORK != "" && m.GOWORK != "off" {
		root = filepath.Dir(m.GOWORK)
	}
	if _, err := os.Stat(filepath.Join(root, "vendor", "modules.txt")); err == nil {
		return "-mod=vendor"
	}
	return ""
}
