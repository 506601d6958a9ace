package conformance

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// defaultNow is the clock of a case that does not set one.
var defaultNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Now is the clock of a case.
func (c *Case) Now() time.Time {
	if c.NowUnixMS == 0 {
		return defaultNow
	}
	return time.UnixMilli(c.NowUnixMS).UTC()
}

// World is what one case acts on. It is made anew for each run of the case and
// used by one goroutine.
type World struct {
	root   *os.Root
	kv     memory
	script script
}

// NewWorld lays out a case's files in dir, which must be empty, and its values
// and HTTP answers in memory. Close it; dir stays.
func NewWorld(c *Case, dir string) (*World, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("conformance: open workspace: %w", err)
	}
	w := &World{root: root, kv: memory{}, script: script{left: c.HTTP}}
	for name, content := range c.Files {
		if err := w.lay(name, content); err != nil {
			root.Close()
			return nil, fmt.Errorf("conformance: lay out %s: %w", name, err)
		}
	}
	for key, content := range c.KV {
		w.kv[key] = value{content, 1}
	}
	return w, nil
}

// lay makes one file, or a directory for a name that ends in a slash. Times are
// the case's default, so that a listing is the same on every run.
func (w *World) lay(name, content string) error {
	path := filepath.FromSlash(trimSlash(name))
	if strings.HasSuffix(name, "/") {
		return w.root.MkdirAll(path, 0o700)
	}
	if err := w.root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := w.root.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	return w.root.Chtimes(path, defaultNow, defaultNow)
}

// Close lets go of the workspace.
func (w *World) Close() error { return w.root.Close() }

// Options bind a call of tool to the world, with everything the tool asks for
// but what the case takes away.
func (w *World) Options(c *Case, tool wire.Tool) sandbox.CallOptions {
	return sandbox.CallOptions{
		Abilities: sandbox.ToolAbilities(tool) &^ sandbox.AbilitiesFrom(func(need string) bool { return slices.Contains(c.Without, need) }),
		Workspace: w.root,
		KV:        w.kv,
		HTTP:      &w.script,
	}
}

// After lists how the world differs from what the case expects of it.
func (w *World) After(c *Case) []string {
	bad := w.script.bad
	if n := len(w.script.left); n > 0 {
		bad = append(bad, fmt.Sprintf("%d expected HTTP requests were not made", n))
	}
	for name, want := range c.FilesAfter {
		got, err := w.root.ReadFile(filepath.FromSlash(trimSlash(name)))
		switch {
		case want == nil && err == nil:
			bad = append(bad, fmt.Sprintf("file %s is there", name))
		case want != nil && err != nil:
			bad = append(bad, fmt.Sprintf("file %s: %v", name, err))
		case want != nil && string(got) != *want:
			bad = append(bad, fmt.Sprintf("file %s is %q, want %q", name, got, *want))
		}
	}
	for key, want := range c.KVAfter {
		got, there := w.kv[key]
		switch {
		case want == nil && there:
			bad = append(bad, fmt.Sprintf("key %s is there", key))
		case want != nil && (!there || got.content != *want):
			bad = append(bad, fmt.Sprintf("key %s is %q, want %q", key, got.content, *want))
		}
	}
	slices.Sort(bad)
	return bad
}

// memory is a [sandbox.KV] of one scope.
type memory map[string]value

type value struct {
	content string
	version int64
}

func (m memory) Get(_ context.Context, _ sandbox.KVScope, key string) ([]byte, int64, error) {
	return []byte(m[key].content), m[key].version, nil
}

func (m memory) Set(_ context.Context, _ sandbox.KVScope, key string, content []byte, ifVersion *int64) (int64, bool, error) {
	v := m[key]
	if ifVersion != nil && *ifVersion != v.version {
		return 0, false, nil
	}
	m[key] = value{string(content), v.version + 1}
	return v.version + 1, true, nil
}

func (m memory) Delete(_ context.Context, _ sandbox.KVScope, key string, ifVersion *int64) (bool, error) {
	if ifVersion != nil && *ifVersion != m[key].version {
		return false, nil
	}
	delete(m, key)
	return true, nil
}

func (m memory) List(_ context.Context, _ sandbox.KVScope, prefix, after string, limit int) ([]wire.KVEntry, bool, error) {
	var all []wire.KVEntry
	for key, v := range m {
		if strings.HasPrefix(key, prefix) && key > after {
			all = append(all, wire.KVEntry{Key: key, Version: v.version, Size: int64(len(v.content))})
		}
	}
	slices.SortFunc(all, func(a, b wire.KVEntry) int { return cmp.Compare(a.Key, b.Key) })
	if len(all) > limit {
		return all[:limit], true, nil
	}
	return all, false, nil
}

// script is a [sandbox.HTTPDoer] that answers from a list and notes what was
// not expected.
type script struct {
	left []Exchange
	bad  []string
}

func (s *script) Do(_ context.Context, req wire.HTTPRequest, body []byte) (wire.HTTPReply, []byte, error) {
	if len(s.left) == 0 {
		s.bad = append(s.bad, fmt.Sprintf("unexpected request %s %s", req.Method, req.URL))
		return wire.HTTPReply{Fault: &wire.Fault{Code: wire.CodeDenied, Message: "no further request is expected"}}, nil, nil
	}
	x := s.left[0]
	s.left = s.left[1:]
	if req.Method != x.Method || req.URL != x.URL {
		s.bad = append(s.bad, fmt.Sprintf("request %s %s, want %s %s", req.Method, req.URL, x.Method, x.URL))
	}
	for name, want := range x.RequestHeaders {
		if got := header(req.Headers, name); got != want {
			s.bad = append(s.bad, fmt.Sprintf("request header %s is %q, want %q", name, got, want))
		}
	}
	if x.RequestBody != nil && string(body) != *x.RequestBody {
		s.bad = append(s.bad, fmt.Sprintf("request body %q, want %q", body, *x.RequestBody))
	}
	if x.Fault != nil {
		return wire.HTTPReply{Fault: x.Fault}, nil, nil
	}
	if req.MaxBytes > 0 && int64(len(x.Body)) > req.MaxBytes {
		return wire.HTTPReply{Fault: &wire.Fault{Code: wire.CodeTooLarge, Message: fmt.Sprintf("the response has more than %d bytes", req.MaxBytes)}}, nil, nil
	}
	reply := wire.HTTPReply{Status: x.Status, URL: x.URL, Headers: map[string][]string{}}
	for name, v := range x.Headers {
		reply.Headers[name] = []string{v}
	}
	return reply, []byte(x.Body), nil
}

// Unanswered is false: a script reaches nobody.
func (*script) Unanswered() bool { return false }

// Changed is false: nothing is changed by a script.
func (*script) Changed() bool { return false }

func header(headers map[string][]string, name string) string {
	for k, v := range headers {
		if strings.EqualFold(k, name) {
			return strings.Join(v, ", ")
		}
	}
	return ""
}
