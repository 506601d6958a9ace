package sandbox_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// workspace is a folder with a few files, and a secret beside it.
func workspace(t *testing.T) *os.Root {
	t.Helper()
	base := t.TempDir()
	for name, content := range map[string]string{
		"secret.txt": "outside", "ws/a.txt": "hello", "ws/dir/b.txt": "b", "ws/.env": "TOKEN=1", "ws/.git/config": "x",
	} {
		p := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(filepath.Join(base, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func path(root *os.Root, name string) string {
	return filepath.Join(root.Name(), filepath.FromSlash(name))
}

func content(t *testing.T, root *os.Root, name string) string {
	t.Helper()
	b, err := os.ReadFile(path(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// everyFile calls each file ability on one path.
var everyFile = map[string]string{
	wire.ImportFSStat:   `{"path":%q}`,
	wire.ImportFSRead:   `{"path":%q}`,
	wire.ImportFSList:   `{"path":%q}`,
	wire.ImportFSWrite:  `{"path":%q,"mode":"replace"}`,
	wire.ImportFSMkdir:  `{"path":%q}`,
	wire.ImportFSRemove: `{"path":%q}`,
	wire.ImportFSRename: `{"from":%q,"to":"moved"}`,
}

func TestPathsOutOfTheWorkspaceAreRefused(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	root := workspace(t)
	opt := sandbox.CallOptions{Abilities: everything, Workspace: root}
	for _, bad := range []string{"../secret.txt", "dir/../../secret.txt", "/etc/passwd", "..", "", "dir//b.txt", "./a.txt", "a.txt/", `dir\b.txt`, "a\x00.txt", strings.Repeat("a/", 600) + "a"} {
		for fn, header := range everyFile {
			if reply, body := ask[wire.Ack](t, p, fn, fmt.Sprintf(header, bad), "pwned", opt); code(reply.Fault) != wire.CodeInvalid || body != "" {
				t.Errorf("%s(%q) answered %+v %q", fn, bad, reply.Fault, body)
			}
		}
		if reply, _ := ask[wire.Ack](t, p, wire.ImportFSRename, fmt.Sprintf(`{"from":"a.txt","to":%q}`, bad), "", opt); code(reply.Fault) != wire.CodeInvalid {
			t.Errorf("rename to %q answered %+v", bad, reply.Fault)
		}
	}
	if got := content(t, root, "../secret.txt"); got != "outside" {
		t.Errorf("the file outside is now %q", got)
	}
}

func TestSensitivePathsAreDenied(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	root := workspace(t)
	opt := sandbox.CallOptions{Abilities: everything, Workspace: root}
	for _, bad := range []string{
		".git/config", "dir/.git", ".GIT/config", ".venv/x", ".ssh/authorized_keys", ".aws/credentials", ".kube/config", ".gnupg/x",
		".env", ".env.local", ".envrc", "dir/.ENV", ".netrc", ".npmrc", ".pgpass", ".pypirc",
		"id_rsa", "dir/id_ed25519", "id_ecdsa", "id_dsa", "server.pem", "dir/tls.KEY", ".portcullis/config.yaml", ".portcullis-0011",
	} {
		for fn, header := range everyFile {
			if reply, body := ask[wire.Ack](t, p, fn, fmt.Sprintf(header, bad), "x", opt); code(reply.Fault) != wire.CodeDenied || body != "" {
				t.Errorf("%s(%q) answered %+v %q", fn, bad, reply.Fault, body)
			}
		}
	}
	for _, name := range []string{"pyproject.toml", "dir/uv.lock"} {
		if reply, _ := ask[wire.Ack](t, p, wire.ImportFSWrite, fmt.Sprintf(`{"path":%q,"mode":"replace"}`, name), "x", opt); code(reply.Fault) != wire.CodeDenied {
			t.Errorf("write %s answered %+v", name, reply.Fault)
		}
		if reply, _ := ask[wire.FSStatReply](t, p, wire.ImportFSStat, fmt.Sprintf(`{"path":%q}`, name), "", opt); code(reply.Fault) != wire.CodeNotFound {
			t.Errorf("stat %s answered %+v", name, reply.Fault)
		}
	}
	for _, good := range []string{".gitignore", "environment", "key", "a.pem.txt", "id_rsa.md"} {
		if reply, _ := ask[wire.Ack](t, p, wire.ImportFSWrite, fmt.Sprintf(`{"path":%q,"mode":"create"}`, good), "x", opt); reply.Fault != nil {
			t.Errorf("write %s answered %+v", good, reply.Fault)
		}
	}
	if got := content(t, root, ".env") + content(t, root, ".git/config"); got != "TOKEN=1x" {
		t.Errorf("sensitive files are now %q", got)
	}
}

func TestLinksDevicesAndPipesAreNotFollowed(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	root := workspace(t)
	opt := sandbox.CallOptions{Abilities: everything, Workspace: root}
	for name, target := range map[string]string{
		"out": "../secret.txt", "up": "..", "abs": "/etc/passwd", "inner": "a.txt", "dirlink": "dir", "gitlink": ".git", "envlink": ".env", "dangling": "nowhere",
	} {
		if err := os.Symlink(target, path(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(path(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"out", "up", "up/secret.txt", "abs", "inner", "dirlink", "dirlink/b.txt", "gitlink/config", "envlink", "dangling", "pipe"} {
		for fn, header := range everyFile {
			if fn == wire.ImportFSStat {
				continue
			}
			reply, body := ask[wire.Ack](t, p, fn, fmt.Sprintf(header, bad), "pwned", opt)
			if reply.Fault == nil || body != "" {
				t.Errorf("%s(%q) was done: %q", fn, bad, body)
			}
		}
		if reply, _ := ask[wire.Ack](t, p, wire.ImportFSWrite, fmt.Sprintf(`{"path":%q,"mode":"append"}`, bad), "pwned", opt); reply.Fault == nil {
			t.Errorf("append to %q was done", bad)
		}
		if reply, _ := ask[wire.Ack](t, p, wire.ImportFSRename, fmt.Sprintf(`{"from":"a.txt","to":%q}`, bad), "", opt); reply.Fault == nil {
			t.Errorf("rename onto %q was done", bad)
		}
	}
	for _, name := range []string{"out", "inner", "dirlink", "pipe"} {
		if reply, _ := ask[wire.FSStatReply](t, p, wire.ImportFSStat, fmt.Sprintf(`{"path":%q}`, name), "", opt); reply.Info == nil || reply.Info.Kind != wire.FileOther || reply.Info.Size != 0 {
			t.Errorf("stat %s: %+v %+v", name, reply.Info, reply.Fault)
		}
	}
	if got := content(t, root, "../secret.txt") + content(t, root, "a.txt"); got != "outsidehello" {
		t.Errorf("files are now %q", got)
	}
}

func TestReadsAreBounded(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	root := workspace(t)
	opt := sandbox.CallOptions{Abilities: everything, Workspace: root}
	for _, c := range []struct {
		req, content string
		eof          bool
	}{
		{`{"path":"a.txt"}`, "hello", true},
		{`{"path":"a.txt","offset":1,"length":3}`, "ell", false},
		{`{"path":"a.txt","offset":1,"length":4}`, "ello", true},
		{`{"path":"a.txt","offset":5}`, "", true},
		{`{"path":"a.txt","offset":99,"length":1}`, "", true},
	} {
		reply, got := ask[wire.FSReadReply](t, p, wire.ImportFSRead, c.req, "", opt)
		if reply.Fault != nil || got != c.content || reply.EOF != c.eof || reply.Size != 5 {
			t.Errorf("%s: %+v %q", c.req, reply, got)
		}
	}
	for req, want := range map[string]wire.Code{
		`{"path":"a.txt","offset":-1}`: wire.CodeInvalid, `{"path":"a.txt","length":-1}`: wire.CodeInvalid,
		`{"path":"a.txt","length":4194305}`: wire.CodeInvalid, `{"path":"b.txt"}`: wire.CodeNotFound,
		`{"path":"dir"}`: wire.CodeInvalid, `{"path":"a.txt/b"}`: wire.CodeNotFound, `{"path":"."}`: wire.CodeInvalid,
	} {
		if reply, got := ask[wire.FSReadReply](t, p, wire.ImportFSRead, req, "", opt); code(reply.Fault) != want || got != "" {
			t.Errorf("%s: %+v %q", req, reply.Fault, got)
		}
	}
	// A sparse terabyte costs what is read of it.
	if err := os.Truncate(path(root, "a.txt"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if reply, got := ask[wire.FSReadReply](t, p, wire.ImportFSRead, `{"path":"a.txt","offset":1099511627770,"length":4096}`, "", opt); len(got) != 6 || !reply.EOF || reply.Size != 1<<40 {
		t.Errorf("end of a terabyte: %+v, %d bytes", reply, len(got))
	}
}

func TestFileBytesAreBudgeted(t *testing.T) {
	root := workspace(t)
	limits := small()
	limits.FileBytes = 12
	s := sandbox.NewSession(limits, sandbox.CallOptions{Abilities: everything, Workspace: root}, nil, zeros{})
	for i, want := range []bool{true, true, false} { // 5 + 5, then 5 more
		reply, err := s.Serve(t.Context(), wire.ImportFSRead, frame(`{"path":"a.txt"}`, ""))
		if err != nil || strings.Contains(string(reply), "too_large") == want {
			t.Errorf("read %d: %q %v", i, reply, err)
		}
	}
	if reply, _ := s.Serve(t.Context(), wire.ImportFSWrite, frame(`{"path":"c.txt","mode":"create"}`, "abc")); !strings.Contains(string(reply), "too_large") {
		t.Errorf("write past the budget: %q", reply)
	}
	if s.Stats().FileBytes != 10 {
		t.Errorf("%d file bytes counted", s.Stats().FileBytes)
	}
	if _, err := os.Stat(path(root, "c.txt")); err == nil {
		t.Error("a refused write made its file")
	}
}

// zeros is a source of randomness that is always the same.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestWritesAreWholeAndPrivate(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	root := workspace(t)
	opt := sandbox.CallOptions{Abilities: everything, Workspace: root}
	write := func(name, mode, body string) wire.Code {
		reply, _ := ask[wire.Ack](t, p, wire.ImportFSWrite, fmt.Sprintf(`{"path":%q,"mode":%q}`, name, mode), body, opt)
		return code(reply.Fault)
	}
	if c := write("new.txt", "create", "1"); c != "" || content(t, root, "new.txt") != "1" {
		t.Errorf("create: %s", c)
	}
	if info, err := os.Stat(path(root, "new.txt")); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if c := write("new.txt", "create", "2"); c != wire.CodeExists || content(t, root, "new.txt") != "1" {
		t.Errorf("create over a file: %s", c)
	}
	if err := os.Chmod(path(root, "new.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	if c := write("new.txt", "replace", "3"); c != "" || content(t, root, "new.txt") != "3" {
		t.Errorf("replace: %s", c)
	}
	if info, err := os.Stat(path(root, "new.txt")); err != nil || info.Mode() != 0o751 {
		t.Errorf("mode after replace %v, %v", info.Mode(), err)
	}
	if c := write("new.txt", "append", "4"); c != "" || content(t, root, "new.txt") != "34" {
		t.Errorf("append: %s", c)
	}
	if c := write("other.txt", "append", "5"); c != "" || content(t, root, "other.txt") != "5" {
		t.Errorf("append to nothing: %s", c)
	}
	for name, want := range map[string]wire.Code{"nodir/x": wire.CodeNotFound, "dir": wire.CodeInvalid, ".": wire.CodeInvalid, "a.txt/x": wire.CodeNotFound} {
		for _, mode := range []string{"replace", "append"} {
			if c := write(name, mode, "x"); c != want {
				t.Errorf("%s %s: %q, want %q", mode, name, c, want)
			}
		}
	}
	if c := write("x.txt", "truncate", "x"); c != wire.CodeInvalid {
		t.Errorf("unknown mode: %q", c)
	}
	left, err := filepath.Glob(path(root, ".portcullis-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

func TestDirectoriesAndMoves(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	root := workspace(t)
	opt := sandbox.CallOptions{Abilities: everything, Workspace: root}
	do := func(fn, header string) wire.Code {
		reply, _ := ask[wire.Ack](t, p, fn, header, "", opt)
		return code(reply.Fault)
	}
	for _, c := range []struct {
		fn, header string
		want       wire.Code
	}{
		{wire.ImportFSMkdir, `{"path":"x/y/z"}`, ""},
		{wire.ImportFSMkdir, `{"path":"x/y/z"}`, ""},
		{wire.ImportFSMkdir, `{"path":"."}`, ""},
		{wire.ImportFSMkdir, `{"path":"a.txt"}`, wire.CodeNotFound},
		{wire.ImportFSRename, `{"from":"a.txt","to":"x/y/a.txt"}`, ""},
		{wire.ImportFSRename, `{"from":"x/y/a.txt","to":"dir/b.txt"}`, ""},
		{wire.ImportFSRename, `{"from":"dir/b.txt","to":"x"}`, wire.CodeExists},
		{wire.ImportFSRename, `{"from":"x","to":"dir/b.txt"}`, wire.CodeExists},
		{wire.ImportFSRename, `{"from":"x","to":"x/y/x"}`, wire.CodeIO},
		{wire.ImportFSRename, `{"from":"gone","to":"b"}`, wire.CodeNotFound},
		{wire.ImportFSRename, `{"from":"dir/b.txt","to":"gone/b"}`, wire.CodeNotFound},
		{wire.ImportFSRename, `{"from":".","to":"b"}`, wire.CodeInvalid},
		{wire.ImportFSRename, `{"from":"x","to":"q"}`, ""},
		{wire.ImportFSRemove, `{"path":"q"}`, wire.CodeConflict},
		{wire.ImportFSRemove, `{"path":"q/y/z"}`, ""},
		{wire.ImportFSRemove, `{"path":"q/y"}`, ""},
		{wire.ImportFSRemove, `{"path":"q"}`, ""},
		{wire.ImportFSRemove, `{"path":"q"}`, wire.CodeNotFound},
		{wire.ImportFSRemove, `{"path":"."}`, wire.CodeInvalid},
	} {
		if got := do(c.fn, c.header); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.fn, c.header, got, c.want)
		}
	}
	if got := content(t, root, "dir/b.txt"); got != "hello" {
		t.Errorf("moved file is %q", got)
	}
	if info, err := os.Stat(path(root, "dir")); err != nil || !info.IsDir() {
		t.Error(err)
	}
	if _, err := ask[wire.Ack](t, p, wire.ImportFSMkdir, `{"path":"m"}`, "", opt); err != "" {
		t.Error(err)
	}
	if info, err := os.Stat(path(root, "m")); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("made with %v, %v", info.Mode(), err)
	}
}

func TestListIsSortedAndPaged(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	root := workspace(t)
	opt := sandbox.CallOptions{Abilities: everything, Workspace: root}
	reply, _ := ask[wire.FSListReply](t, p, wire.ImportFSList, `{"path":"."}`, "", opt)
	var names []string
	for _, e := range reply.Entries {
		names = append(names, e.Name+":"+e.Kind)
	}
	if got := strings.Join(names, " "); got != ".env:file .git:dir a.txt:file dir:dir" || reply.More {
		t.Errorf("list: %s, more %v", got, reply.More)
	}
	long := strings.Repeat("n", 200)
	for i := range 500 {
		if err := os.WriteFile(path(root, fmt.Sprintf("dir/%03d%s", i, long)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen, after := 0, ""
	for range 20 {
		page, _ := ask[wire.FSListReply](t, p, wire.ImportFSList, fmt.Sprintf(`{"path":"dir","after":%q}`, after), "", opt)
		if page.Fault != nil || len(page.Entries) == 0 {
			t.Fatalf("%+v", page.Fault)
		}
		seen += len(page.Entries)
		after = page.Entries[len(page.Entries)-1].Name
		if !page.More {
			break
		}
	}
	if seen != 501 {
		t.Errorf("%d of 501 names came", seen)
	}
	for req, want := range map[string]wire.Code{`{"path":"a.txt"}`: wire.CodeNotFound, `{"path":"gone"}`: wire.CodeNotFound, `{"path":".","limit":1001}`: wire.CodeInvalid} {
		if page, _ := ask[wire.FSListReply](t, p, wire.ImportFSList, req, "", opt); code(page.Fault) != want {
			t.Errorf("%s: %+v", req, page.Fault)
		}
	}
}

// No answer holds the host's own path or the system's words.
func TestFaultsKeepTheHostsPaths(t *testing.T) {
	p := abilities(t, sandbox.Config{})
	root := workspace(t)
	opt := sandbox.CallOptions{Abilities: everything, Workspace: root}
	for fn, header := range everyFile {
		for _, name := range []string{"gone/deep", "a.txt/x", "dir"} {
			out := p.Call(t.Context(), fn, frame(fmt.Sprintf(header, name), ""), opt)
			if s := string(out.Output); strings.Contains(s, filepath.Dir(root.Name())) || strings.Contains(s, "no such file") || strings.Contains(s, "openat") {
				t.Errorf("%s answered %s", fn, s)
			}
		}
	}
	if reply, _ := ask[wire.FSStatReply](t, p, wire.ImportFSStat, `{"path":"a.txt"}`, "", sandbox.CallOptions{Abilities: everything}); code(reply.Fault) != wire.CodeDenied {
		t.Errorf("without a workspace: %+v", reply.Fault)
	}
}
