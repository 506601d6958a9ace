package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/b3abf3ee/portcullis/host/process"
)

func TestWhatCanBePinned(t *testing.T) {
	w := newWorld(t)
	dir, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		must(os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600))
		must(os.Chmod(path, mode))
		return path
	}
	must(os.MkdirAll(filepath.Join(ws, "bin"), 0o755))
	must(os.WriteFile(filepath.Join(ws, "bin", "tool"), []byte("#!/bin/sh\n"), 0o755))
	must(os.Symlink(filepath.Join(ws, "bin", "tool"), filepath.Join(dir, "link-into-workspace")))
	must(os.Symlink("/bin/ls", filepath.Join(ws, "link-out")))
	must(os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling")))
	must(os.Symlink("loop", filepath.Join(dir, "loop")))
	must(unix.Mkfifo(filepath.Join(dir, "fifo"), 0o755))
	must(os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	open := file("open/tool", 0o755)
	must(os.Chmod(filepath.Dir(open), 0o777))
	sticky := file("sticky/tool", 0o755)
	must(os.Chmod(filepath.Dir(sticky), 0o777|os.ModeSticky))
	for name, c := range map[string]struct{ ask, code string }{
		"by name":                     {"ls", ""},
		"by path":                     {"/bin/ls", ""},
		"a file of one's own":         {file("own", 0o755), ""},
		"in a folder that is sticky":  {sticky, ""},
		"not there":                   {"no-such-program", process.NotFound},
		"a path that is not there":    {"/no/such", process.NotFound},
		"a link to nothing":           {filepath.Join(dir, "dangling"), process.NotFound},
		"a link to itself":            {filepath.Join(dir, "loop"), process.NotReadable},
		"a folder":                    {filepath.Join(dir, "folder"), process.NotAFile},
		"a pipe":                      {filepath.Join(dir, "fifo"), process.NotAFile},
		"a device":                    {"/dev/null", process.NotAFile},
		"not executable":              {file("plain", 0o644), process.NotExecuting},
		"group may write":             {file("group", 0o775), process.OthersWrite},
		"others may write":            {file("others", 0o757), process.OthersWrite},
		"a folder everybody may fill": {open, process.OthersWrite},
		"another user's":              {func() string { p := file("theirs", 0o755); _ = os.Chown(p, 65534, 65534); return p }(), process.OthersWrite},
		"another user's folder":       {func() string { p := file("hers/tool", 0o755); _ = os.Chown(filepath.Dir(p), 65534, 65534); return p }(), process.OthersWrite},
		"set-user-id":                 {file("suid", 0o755|os.ModeSetuid), process.SetID},
		"set-group-id":                {file("sgid", 0o755|os.ModeSetgid), process.SetID},
		"in the workspace":            {filepath.Join(ws, "bin", "tool"), process.Inside},
		"relative, in the workspace":  {"./bin/tool", process.Inside},
		"a link into the workspace":   {filepath.Join(dir, "link-into-workspace"), process.Inside},
		"a link out of the workspace": {filepath.Join(ws, "link-out"), process.Inside},
		"up and back":                 {dir + "/../" + filepath.Base(dir) + "/own", ""},
	} {
		if strings.HasPrefix(name, "another user's") && os.Getuid() != 0 {
			continue // only root can give a file away
		}
		p, err := w.finder.Pin(t.Context(), c.ask, ws, ws)
		var no *process.PinError
		switch {
		case c.code == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.code != "" && (!errors.As(err, &no) || no.Code != c.code || no.Why == "" || !strings.Contains(err.Error(), no.Path)):
			t.Errorf("%s: %v, want %s", name, err, c.code)
		case err == nil && (len(p.Digest) != 64 || !filepath.IsAbs(p.Path) || !filepath.IsAbs(p.Found) || !p.Verify()):
			t.Errorf("%s: %+v", name, p)
		}
		_ = p.Close()
		_ = p.Close()
	}
	if _, err := w.finder.Pin(t.Context(), filepath.Join(ws, "bin", "tool"), ws, ""); err != nil {
		t.Error(err) // where policy says so
	}
}

// Each of these changes what stands behind a name between the look and the start: none of it runs.
func TestWhatChangedDoesNotStart(t *testing.T) {
	type change func(t *testing.T, path string)
	replace := func(text string) change {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path+".new", []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}
	}
	rewrite := func(t *testing.T, path string) {
		info, _ := os.Stat(path)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteAt([]byte("#"), 0)
		_ = f.Close()
		_ = os.Chtimes(path, info.ModTime(), info.ModTime()) // the time of the inode tells
	}
	link := func(t *testing.T, path string) {
		_ = os.Rename(path, path+".old")
		if err := os.Symlink("/bin/true", path); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path string) { _ = os.Remove(path) }
	const script = "#!/bin/sh\necho ran\n"
	for name, do := range map[string]change{"replaced": replace(script), "rewritten": rewrite, "a link instead": link, "removed": remove} {
		t.Run("script, "+name, func(t *testing.T) {
			w := newWorld(t)
			path := w.write("tool", script, 0o755)
			cmd := w.command(path)
			do(t, path)
			w.refused(cmd, path)
		})
		t.Run("operand, "+name, func(t *testing.T) {
			w := newWorld(t)
			path := w.write("s.sh", script, 0o644)
			cmd := w.command("sh", path)
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			seen, _, err := w.finder.Digests.Of(t.Context(), f, path, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			cmd.Also = []process.Seen{seen}
			do(t, path)
			w.refused(cmd, path)
		})
	}
	t.Run("binary, rewritten", func(t *testing.T) {
		w := newWorld(t)
		path := w.copyOf("/bin/true")
		cmd := w.command(path)
		rewrite(t, path)
		w.refused(cmd, path)
	})
	// What the name leads to does not matter for a binary: what was hashed is what runs, through its descriptor.
	for name, do := range map[string]change{"replaced": replace("#!/bin/sh\nexit 9\n"), "a link instead": link, "removed": remove} {
		t.Run("binary, "+name, func(t *testing.T) {
			w := newWorld(t)
			path := w.copyOf("/bin/echo")
			cmd := w.command(path, "pinned")
			do(t, path)
			w.out = process.NewOutput(100, 100, nil)
			end, err := w.engine.Run(t.Context(), cmd, process.Streams{Stdout: w.out})
			var no *process.StartError
			if name == "removed" && errors.As(err, &no) && no.Stage == process.StageChanged {
				return // its number of links is gone, and with it the time of the inode changed
			}
			if errors.As(err, &no) && no.Stage == process.StageChanged {
				return // renaming changes the time of the inode too, on most file systems
			}
			if err != nil || !end.Clean || w.out.Text() != "pinned\n" {
				t.Fatal(end, err, w.out.Text())
			}
		})
	}
}

func (w *world) copyOf(path string) string {
	w.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write("binary", string(text), 0o755)
}

func (w *world) refused(cmd process.Command, path string) {
	w.t.Helper()
	w.out = process.NewOutput(100, 100, nil)
	_, err := w.engine.Run(context.Background(), cmd, process.Streams{Stdout: w.out})
	var no *process.StartError
	if !errors.As(err, &no) || no.Stage != process.StageChanged || no.Path != path || w.out.Total() != 0 {
		w.t.Fatal(err, w.out.Text())
	}
}

// The system's own refusals are told as such.
func TestWhatTheSystemWillNotRun(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		path string
		want error
	}{
		"a script without a first line":      {w.write("a", "echo ran\n", 0o755), syscall.ENOEXEC},
		"an empty file":                      {w.write("b", "", 0o755), syscall.ENOEXEC},
		"a script whose interpreter is gone": {w.write("c", "#!/no/such/interpreter\n", 0o755), syscall.ENOENT},
		"a binary of another machine":        {w.write("d", "\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 9)+"\x02\x00\xff\x00"+strings.Repeat("\x00", 44), 0o755), syscall.ENOEXEC},
	} {
		_, err := w.run(t.Context(), c.path)
		var no *process.StartError
		if !errors.As(err, &no) || no.Stage != process.StageExec || !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	script := w.write("e", "#!/bin/sh -e\necho $0 $1 $(basename $PWD)\n", 0o755)
	end, err := w.run(t.Context(), script, "x")
	if want := script + " x " + filepath.Base(w.dir) + "\n"; err != nil || w.out.Text() != want {
		t.Error(end, err, w.out.Text(), want)
	}
}

func TestDigestsAreRememberedOnlyForWhatIsSettled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	now := time.Now()
	d := &process.Digests{Clock: func() time.Time { return now }}
	_, first, err := d.Of(t.Context(), f, path, 10)
	if err != nil || len(first) != 64 {
		t.Fatal(first, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.Of(ended, f, path, 10); !errors.Is(err, context.Canceled) {
		t.Error("a file that was just written is not read again:", err)
	}
	now = now.Add(time.Hour)
	if _, again, err := d.Of(t.Context(), f, path, 10); err != nil || again != first {
		t.Fatal(again, err)
	}
	if _, again, err := d.Of(ended, f, path, 10); err != nil || again != first {
		t.Error("a file that was left alone is read again:", err)
	}
	if _, _, err := d.Of(t.Context(), f, path, 0); err == nil {
		t.Error("no bound on the size")
	}
	if err := os.WriteFile(path, []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, other, err := d.Of(t.Context(), f, path, 10); err != nil || other == first {
		t.Error(other, err)
	}
}
