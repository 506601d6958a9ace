package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/b3abf3ee/portcullis/sdk"
	"github.com/b3abf3ee/portcullis/sdk/plugintest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

type none struct{}

// world is a plugin with every ability whose one tool runs f.
func world(t testing.TB, f func(ctx context.Context, h sdk.Host) error) *plugintest.Plugin {
	t.Helper()
	caps := []string{"fs.read", "fs.write", "kv", "net.fetch"}
	p := sdk.Plugin{
		ID: "demo", Version: "1.0.0", Summary: "s", License: "l",
		Egress: []sdk.Egress{
			{Host: "api.example.com", Methods: []string{"GET", "POST"}, PathPrefix: "/v1/", Reason: "r"},
			{Host: "*.mirror.example", Port: 8443, Reason: "r"},
		},
		Settings: []sdk.Setting{{Name: "units", Description: "d", Default: "metric"}},
		Tools: []sdk.ToolSpec{sdk.Tool("demo.run", "d", func(ctx context.Context, _ none, h sdk.Host) (none, error) {
			return none{}, f(ctx, h)
		}, sdk.Needs(caps...))},
	}
	for _, c := range caps {
		p.Capabilities = append(p.Capabilities, sdk.Capability{Name: c, Reason: "r"})
	}
	return plugintest.For(t, p)
}

// within runs f as a tool.
func within(t testing.TB, f func(ctx context.Context, h sdk.Host) error) *plugintest.Plugin {
	t.Helper()
	p := world(t, f)
	p.Call(t, "demo.run", `{}`)
	return p
}

// big is a file that no single crossing can carry.
var big = strings.Repeat("0123456789abcdef", (wire.MaxReadBytes/16)*2+1)

func TestFilesIsAnFS(t *testing.T) {
	many := map[string]string{"a.txt": "alpha", "dir/b.txt": "beta", "dir/sub/c": "", "empty/": "", "big": big}
	for i := range wire.MaxListEntries + 5 {
		many[fmt.Sprintf("many/%04d", i)] = "x"
	}
	world(t, func(_ context.Context, h sdk.Host) error {
		return fstest.TestFS(h.Files(), "a.txt", "dir/b.txt", "dir/sub/c", "empty", "many/0000", fmt.Sprintf("many/%04d", wire.MaxListEntries+4))
	}).Files(many).Call(t, "demo.run", `{}`)
}

func TestFilesReadInPieces(t *testing.T) {
	world(t, func(_ context.Context, h sdk.Host) error {
		whole, err := h.Files().ReadFile("big")
		if err != nil || string(whole) != big {
			return fmt.Errorf("ReadFile: %d bytes, %w", len(whole), err)
		}
		p := make([]byte, wire.MaxReadBytes+100)
		if n, err := h.Files().ReadRange("big", p, 7); err != nil || n != len(p) || string(p) != big[7:7+len(p)] {
			return fmt.Errorf("ReadRange: %d bytes, %w", n, err)
		}
		if n, err := h.Files().ReadRange("big", p, int64(len(big))-3); err != nil || n != 3 || string(p[:3]) != "def" {
			return fmt.Errorf("ReadRange at the end: %d bytes, %w", n, err)
		}
		if n, err := h.Files().ReadRange("big", p, int64(len(big))+1); err != nil || n != 0 {
			return fmt.Errorf("ReadRange beyond the end: %d bytes, %w", n, err)
		}
		f, err := h.Files().Open("big")
		if err != nil {
			return err
		}
		streamed, err := io.ReadAll(f)
		if err != nil || string(streamed) != big {
			return fmt.Errorf("Open and ReadAll: %d bytes, %w", len(streamed), err)
		}
		if err := f.Close(); err != nil {
			return err
		}
		if _, err := f.Read(p); !errors.Is(err, fs.ErrClosed) {
			return fmt.Errorf("read after close: %w", err)
		}
		return nil
	}).Files(map[string]string{"big": big}).Call(t, "demo.run", `{}`)
}

func TestFilesWriteAndMove(t *testing.T) {
	p := within(t, func(_ context.Context, h sdk.Host) error {
		f := h.Files()
		return errors.Join(
			f.MkdirAll("out/deep"),
			f.MkdirAll("out/deep"),
			f.WriteFile("out/a", []byte("one"), sdk.Create),
			f.WriteFile("out/a", []byte("two"), sdk.Replace),
			f.WriteFile("out/a", []byte("+"), sdk.Append),
			f.WriteFile("out/gone", nil, sdk.Append),
			f.Remove("out/gone"),
			f.WriteFile("out/deep/b", []byte{0, 1, 255}, sdk.Create),
			f.Rename("out", "moved"),
		)
	})
	if got := strings.Join(p.FileNames(), " "); got != "moved/a moved/deep/b" {
		t.Errorf("files are %s", got)
	}
	if got, ok := p.File("moved/a"); !ok || got != "two+" {
		t.Errorf("moved/a is %q, %v", got, ok)
	}
	if got, _ := p.File("moved/deep/b"); got != "\x00\x01\xff" {
		t.Errorf("bytes did not cross whole: %q", got)
	}
}

func TestFileErrorsAreThoseOfPackageFS(t *testing.T) {
	world(t, func(_ context.Context, h sdk.Host) error {
		f := h.Files()
		read := func(_ []byte, err error) error { return err }
		stat := func(_ fs.FileInfo, err error) error { return err }
		list := func(_ []fs.DirEntry, err error) error { return err }
		open := func(_ fs.File, err error) error { return err }
		for _, c := range []struct {
			what string
			err  error
			want error
		}{
			{"read missing", read(f.ReadFile("none")), fs.ErrNotExist},
			{"stat missing", stat(f.Stat("none")), sdk.NotFound},
			{"open missing", open(f.Open("none")), fs.ErrNotExist},
			{"list missing", list(f.ReadDir("none")), fs.ErrNotExist},
			{"read a directory", read(f.ReadFile("dir")), sdk.Invalid},
			{"list a file", list(f.ReadDir("a")), sdk.Invalid},
			{"create again", f.WriteFile("a", nil, sdk.Create), fs.ErrExist},
			{"write below nothing", f.WriteFile("no/dir", nil, sdk.Replace), fs.ErrNotExist},
			{"write in no mode", f.WriteFile("b", nil, "w"), sdk.Invalid},
			{"write too much", f.WriteFile("b", make([]byte, wire.MaxBodyBytes+1), sdk.Replace), sdk.TooLarge},
			{"mkdir over a file", f.MkdirAll("a"), fs.ErrExist},
			{"remove a full directory", f.Remove("dir"), sdk.Invalid},
			{"remove missing", f.Remove("none"), fs.ErrNotExist},
			{"rename missing", f.Rename("none", "x"), fs.ErrNotExist},
			{"rename out", f.Rename("a", "../a"), sdk.Invalid},
			{"read out", read(f.ReadFile("../a")), sdk.Invalid},
			{"read absolute", read(f.ReadFile("/a")), sdk.Invalid},
			{"stat a long name", stat(f.Stat(strings.Repeat("x", wire.MaxPath+1))), sdk.Invalid},
			{"read what the test forbids", read(f.ReadFile("locked")), fs.ErrPermission},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %v, want %v", c.what, c.err, c.want)
			}
			var pe *fs.PathError
			if !errors.As(c.err, &pe) || pe.Op == "" || pe.Path == "" {
				t.Errorf("%s: %#v is not a *fs.PathError", c.what, c.err)
			}
		}
		return nil
	}).Files(map[string]string{"a": "x", "dir/b": "y", "locked": "z"}).
		Fail(wire.ImportFSRead, "locked", sdk.Denied, "not this one").
		Call(t, "demo.run", `{}`)
}

func TestKVVersions(t *testing.T) {
	p := world(t, func(_ context.Context, h sdk.Host) error {
		kv := h.KV()
		if _, _, err := kv.Get("count"); !errors.Is(err, sdk.NotFound) {
			return fmt.Errorf("get missing: %w", err)
		}
		v1, err := kv.CompareAndSet("count", []byte("1"), 0)
		if err != nil || v1 != 1 {
			return fmt.Errorf("first version %d, %w", v1, err)
		}
		if _, err := kv.CompareAndSet("count", []byte("x"), 0); !errors.Is(err, sdk.Conflict) {
			return fmt.Errorf("set over: %w", err)
		}
		v2, err := kv.CompareAndSet("count", []byte{0, 255}, v1)
		if err != nil || v2 <= v1 {
			return fmt.Errorf("version %d after %d, %w", v2, v1, err)
		}
		got, v, err := kv.Get("count")
		if err != nil || v != v2 || !bytes.Equal(got, []byte{0, 255}) {
			return fmt.Errorf("got %q, %d, %w", got, v, err)
		}
		if err := errors.Join(kv.Delete("count"), kv.Delete("count")); err != nil {
			return err
		}
		if v, err := kv.Set("count", nil); err != nil || v != v2+1 {
			return fmt.Errorf("version %d after a delete, %w", v, err)
		}
		for _, key := range []string{"", strings.Repeat("x", wire.MaxKVKey+1), "\xff"} {
			if _, err := kv.Set(key, nil); !errors.Is(err, sdk.Invalid) {
				return fmt.Errorf("key %.10q: %w", key, err)
			}
		}
		if _, err := kv.Set("x", make([]byte, wire.MaxKVValue+1)); !errors.Is(err, sdk.TooLarge) {
			return fmt.Errorf("large value: %w", err)
		}
		return nil
	}).Keys(map[string]string{"other": "o"})
	p.Call(t, "demo.run", `{}`)
	if got, ok := p.Key("count"); !ok || got != "" {
		t.Errorf("count is %q, %v", got, ok)
	}
}

func TestKVIsBounded(t *testing.T) {
	full := map[string]string{}
	for i := range wire.MaxKVKeys {
		full[fmt.Sprint(i)] = ""
	}
	world(t, func(_ context.Context, h sdk.Host) error {
		if _, err := h.KV().Set("one more", nil); !errors.Is(err, sdk.TooLarge) {
			return fmt.Errorf("a key too many: %w", err)
		}
		value := make([]byte, wire.MaxKVValue)
		for i := range wire.MaxKVTotal / wire.MaxKVValue {
			if _, err := h.KV().Set(fmt.Sprint(i), value); err != nil {
				return err
			}
		}
		if _, err := h.KV().Set("999", []byte{1}); !errors.Is(err, sdk.TooLarge) {
			return fmt.Errorf("a byte too many: %w", err)
		}
		_, err := h.KV().Set("0", value) // in place of as much
		return err
	}).Keys(full).Call(t, "demo.run", `{}`)
}

func TestKVListWalksPages(t *testing.T) {
	keys := map[string]string{"z": ""}
	for i := range 900 {
		keys[fmt.Sprintf("k/%0100d", i)] = "value"
	}
	world(t, func(_ context.Context, h sdk.Host) error {
		n := 0
		for e, err := range h.KV().List("k/") {
			if err != nil {
				return err
			}
			if want := fmt.Sprintf("k/%0100d", n); e.Key != want || e.Size != 5 || e.Version < 1 {
				return fmt.Errorf("entry %d is %+v", n, e)
			}
			n++
		}
		if n != 900 {
			return fmt.Errorf("%d entries", n)
		}
		for range h.KV().List("") {
			return nil // leaving early must be fine
		}
		return errors.New("the empty prefix lists nothing")
	}).Keys(keys).Call(t, "demo.run", `{}`)

	world(t, func(_ context.Context, h sdk.Host) error {
		for _, err := range h.KV().List("k/") {
			if !errors.Is(err, sdk.IO) {
				return fmt.Errorf("got %w", err)
			}
		}
		return nil
	}).Fail(wire.ImportKVList, "", sdk.IO, "disk").Call(t, "demo.run", `{}`)
}

func TestDoGoesThroughEgress(t *testing.T) {
	handler := http.NewServeMux()
	handler.HandleFunc("POST /v1/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.Header.Get("X-Sent"))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.Copy(w, r.Body)
	})
	handler.HandleFunc("GET /v1/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	})
	handler.HandleFunc("GET /v1/near", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v1/here", http.StatusSeeOther)
	})
	handler.HandleFunc("GET /v1/here", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	handler.HandleFunc("GET /v1/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/v1/loop", http.StatusFound) })

	world(t, func(ctx context.Context, h sdk.Host) error {
		header := sdk.Header{}
		header.Set("x-sent", "old")
		header.Set("X-Sent", "yes")
		r, err := h.Do(ctx, &sdk.Request{Method: "POST", URL: "https://api.example.com/v1/echo", Header: header, Body: []byte{0, 255}})
		if err != nil || r.Status != 418 || r.Header.Get("x-seen") != "yes" || !bytes.Equal(r.Body, []byte{0, 255}) {
			return fmt.Errorf("got %+v, %w", r, err)
		}
		r, err = h.Do(ctx, &sdk.Request{URL: "https://api.example.com/v1/near"})
		if err != nil || string(r.Body) != "here" || r.URL != "https://api.example.com/v1/here" {
			return fmt.Errorf("redirected: %+v, %w", r, err)
		}
		r, err = h.Do(ctx, &sdk.Request{URL: "https://api.example.com/v1/near", NoRedirect: true})
		if err != nil || r.Status != 303 || r.Header.Get("location") != "/v1/here" || r.Header.Get("none") != "" {
			return fmt.Errorf("not redirected: %+v, %w", r, err)
		}
		if _, err := h.Do(ctx, &sdk.Request{URL: "https://a.mirror.example:8443/v1/here"}); err != nil {
			return err
		}
		for url, want := range map[string]error{
			"https://api.example.com/v1/away":      sdk.Denied,
			"https://api.example.com/v1/loop":      sdk.Failed,
			"https://api.example.com/v2/":          sdk.Denied,
			"https://api.example.com:444/v1/here":  sdk.Denied,
			"https://mirror.example:8443/":         sdk.Denied,
			"https://notmirror.example:8443/":      sdk.Denied,
			"https://a.mirror.example/v1/here":     sdk.Denied,
			"ftp://api.example.com/v1/":            sdk.Invalid,
			"https://me:pw@api.example.com/v1/":    sdk.Invalid,
			"/v1/here":                             sdk.Invalid,
			"https://api.example.com/v1/forbidden": sdk.Timeout,
		} {
			if _, err := h.Do(ctx, &sdk.Request{URL: url}); !errors.Is(err, want) {
				return fmt.Errorf("%s: %w, want %w", url, err, want)
			}
		}
		if _, err := h.Do(ctx, &sdk.Request{Method: "DELETE", URL: "https://api.example.com/v1/here"}); !errors.Is(err, sdk.Denied) {
			return fmt.Errorf("method: %w", err)
		}
		if _, err := h.Do(ctx, &sdk.Request{URL: "https://api.example.com/v1/here", MaxBody: 3}); !errors.Is(err, sdk.TooLarge) {
			return fmt.Errorf("body: %w", err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := h.Do(ended, &sdk.Request{URL: "https://api.example.com/v1/here"}); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("cancelled: %w", err)
		}
		return nil
	}).HTTP(handler).Fail(wire.ImportHTTP, "https://api.example.com/v1/forbidden", sdk.Timeout, "slow").
		Call(t, "demo.run", `{}`)
}

func TestClockSettingsRandomLogAndProgress(t *testing.T) {
	now := time.Date(2030, 5, 6, 7, 8, 9, 10e6, time.UTC)
	p := world(t, func(_ context.Context, h sdk.Host) error {
		if got := h.Now(); !got.Equal(now) || got.Location() != time.UTC {
			return fmt.Errorf("now is %v", got)
		}
		if u, s, n := h.Setting("units"), h.Setting("set"), h.Setting("none"); u != "metric" || s != "" || n != "" {
			return fmt.Errorf("settings are %q, %q, %q", u, s, n)
		}
		a, b := make([]byte, 3000), make([]byte, 3000)
		if err := errors.Join(h.Random(a), h.Random(b), h.Random(nil)); err != nil {
			return err
		}
		if bytes.Equal(a, b) || bytes.Equal(a[:1024], a[1024:2048]) || bytes.Count(a, []byte{0}) > 100 {
			return errors.New("random bytes repeat")
		}
		h.Log(sdk.LevelWarn, "words", "text", "a", "n", 7, "ok", true, "err", fs.ErrClosed, "list", []int{1}, "odd")
		h.Log(sdk.LevelInfo, strings.Repeat("m", 9000), "k", strings.Repeat("v", 9000))
		h.Log(sdk.LevelInfo, strings.Repeat("\x00", 9000), "k", strings.Repeat("\x00", 9000), "l", strings.Repeat("\x00", 9000), "m", strings.Repeat("\x00", 9000), "n", strings.Repeat("\x00", 9000))
		h.Progress("half", 1, 2)
		return nil
	}).At(now)
	p.Call(t, "demo.run", `{}`)
	logs := p.Logs()
	if len(logs) != 3 {
		t.Fatalf("%d log lines", len(logs))
	}
	if got := fmt.Sprint(logs[0]); got != "{warn words [{text a} {n 7} {ok true} {err file already closed} {list [1]} {odd }]}" {
		t.Errorf("first line is %s", got)
	}
	if len(logs[1].Message) > 2048 || len(logs[1].Attrs[0].Value) > 256 || !strings.HasSuffix(logs[1].Message, "m…") {
		t.Errorf("second line was not cut: %d, %d", len(logs[1].Message), len(logs[1].Attrs[0].Value))
	}
	if len(logs[2].Attrs) != 0 {
		t.Errorf("third line kept %d attributes that do not fit", len(logs[2].Attrs))
	}
	if got := fmt.Sprint(p.Progress()); got != "[{half 1 2}]" {
		t.Errorf("progress is %s", got)
	}
	p.Setting("units", "imperial")
	if got := p.Description().Settings[0].Default; got != "metric" {
		t.Errorf("default became %s", got)
	}
}

func TestTheOperatorsSettingWins(t *testing.T) {
	for _, value := range []string{"imperial", ""} {
		world(t, func(_ context.Context, h sdk.Host) error {
			if got := h.Setting("units"); got != value {
				return fmt.Errorf("units is %q, want %q", got, value)
			}
			return nil
		}).Setting("units", value).Call(t, "demo.run", `{}`)
	}
}
