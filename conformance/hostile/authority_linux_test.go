package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// authorityGuests want what they were not given, or say that they were.
func authorityGuests() []guest {
	const file, said = "file-read", effect.Succeeded
	screen := []string{"\x1b", "\u009b", "\u202e", "\u202c", "\x00", "\x07", "\r"}
	without := func(name string) func(*manifest.Manifest) {
		return func(m *manifest.Manifest) {
			var left []string
			for _, i := range m.Imports {
				if !strings.HasSuffix(i, name) {
					left = append(left, i)
				}
			}
			m.Imports = left
		}
	}
	return []guest{
		{name: "undeclared-import", file: "kv-get", edit: without(wire.ImportKVGet), status: effect.Failed, reason: "plugin_undeclared"},
		{name: "ungranted-import", file: "kv-get", withheld: []string{"kv"}, status: effect.Denied, reason: "capability_not_granted"},
		{
			name: "ungranted-tool-that-asks-less", file: "kv-get", withheld: []string{"kv"}, status: effect.Denied, reason: "capability_not_granted",
			edit: func(m *manifest.Manifest) { m.Tools[0].Capabilities = nil },
		},
		{name: "asks-less-than-it-imports", file: "kv-get", edit: func(m *manifest.Manifest) { m.Capabilities, m.Tools[0].Capabilities = nil, nil }, status: refused, reason: "manifest_invalid"},
		{name: "http-request", status: effect.Failed, reason: "plugin_withheld", says: "portcullis_http"},
		{
			name: "http-request-declared", file: "http-request", status: refused, reason: "manifest_invalid",
			edit: func(m *manifest.Manifest) { m.Imports = append(m.Imports, "extism:host/env.http_request") },
		},
		{name: "var-get", status: effect.Failed, reason: "plugin_withheld", says: "portcullis_kv_get"},
		{name: "config-secret", status: said, says: nothing},
		{name: "call-other-tool", status: effect.Failed, reason: "plugin_abi", says: "portcullis_call"},
		{name: "other-function", status: effect.Failed, reason: "plugin_import", says: "charge_card"},
		{name: "other-abi", file: "plain", edit: func(m *manifest.Manifest) { m.ABI = "portcullis/v2" }, status: refused, reason: "manifest_invalid"},
		{name: "other-digest", file: "plain", edit: func(m *manifest.Manifest) { m.Wasm.SHA256 = strings.Repeat("0", 64) }, status: refused, reason: "wasm_changed"},
		{name: "changed-after-install", file: "plain", play: changed, status: effect.Failed, reason: "plugin_wasm_changed"},
		{name: "wider-after-install", file: "plain", play: widened, status: rejected, reason: "core_unusable"},
		{name: "undeclared-tool", file: "plain", play: otherTool("hostile.undeclared"), status: effect.NotFound, reason: "tool_not_found"},
		{name: "tool-of-another", file: "plain", play: otherTool("hostile.plain"), status: effect.NotFound, reason: "tool_not_found"},
		{name: "start-call", status: effect.Failed, reason: "guest_trap", says: "host_call_before_entry"},
		{name: "initialize-call", status: effect.Failed, reason: "guest_trap", says: "host_call_before_entry"},
		{name: "constructor-call", status: effect.Failed, reason: "guest_trap", says: "host_call_before_entry"},
		{name: "key-of-another", file: "kv-get", play: keyOfAnother, status: said, says: "not_found"},
		{name: "keys-of-all", file: "kv-list", play: keyOfAnother, status: said, says: `"more":false`, hides: []string{"mine", "entries"}},
		{name: "tool-without-need", play: toolWithoutNeed, status: said, says: `"denied"`},

		{name: "file-above", file: file, args: `{"path":"../outside.txt"}`, status: said, says: `"invalid"`, hides: []string{"eof"}},
		{name: "file-above-within", file: file, args: `{"path":"a/../../outside.txt"}`, status: said, says: `"invalid"`, hides: []string{"eof"}},
		{name: "file-absolute", file: file, args: `{"path":"/etc/passwd"}`, status: said, says: `"invalid"`, hides: []string{"eof"}},
		{name: "file-with-nul", file: file, args: `{"path":"inside.txt\u0000.png"}`, status: said, says: `"invalid"`, hides: []string{"eof"}},
		{name: "file-link", file: file, args: `{"path":"link.txt"}`, status: said, says: `"invalid"`, hides: []string{"eof"}},
		{name: "file-through-link", file: file, args: `{"path":"link/outside.txt"}`, status: said, says: `"not_found"`, hides: []string{"eof"}},
		{name: "file-of-process", file: file, args: `{"path":"../../../../proc/self/environ"}`, status: said, says: `"invalid"`, hides: []string{"eof"}},
		{name: "file-secret", file: file, args: `{"path":".env"}`, status: said, says: `"denied"`, hides: []string{"eof", secret}},
		{name: "list-above", file: "file-list", args: `{"path":".."}`, status: said, says: `"invalid"`, hides: []string{"entries"}},
		{name: "list-through-link", file: "file-list", args: `{"path":"link"}`, status: said, says: `"not_found"`, hides: []string{"outside.txt"}},
		{name: "write-through-link", file: "file-write", args: `{"mode":"replace","path":"link/new.txt"}`, status: said, says: `"not_found"`},
		{name: "write-secret", file: "file-write", args: `{"mode":"replace","path":".git/hooks/post-commit"}`, status: said, says: `"denied"`},
		{name: "move-out", file: "file-rename", args: `{"from":"inside.txt","to":"link/stolen.txt"}`, status: said, says: `"not_found"`},

		{name: "fetch-ungranted", file: "fetch", withheld: []string{wire.CapNetFetch}, play: fetchGranted("net.fetch:other.example"), args: `{"method":"GET","url":"SERVER/"}`, status: said, says: "(not_granted)"},
		{name: "fetch-metadata", file: "fetch", args: `{"method":"GET","url":"http://169.254.169.254/latest/meta-data/"}`, status: said, says: `"denied"`},
		{name: "fetch-loopback", file: "fetch", args: `{"method":"GET","url":"http://localhost:1/"}`, status: said, says: `"denied"`},
		{name: "fetch-file", file: "fetch", args: `{"method":"GET","url":"file:///etc/passwd"}`, status: said, says: `"denied"`},
		{name: "fetch-redirect", file: "fetch", args: `{"method":"GET","url":"SERVER/away?to=http%3A%2F%2F169.254.169.254%2F"}`, status: said, says: `"denied"`},
		{name: "fetch-redirect-ungranted", file: "fetch", play: fetchGranted(), withheld: []string{wire.CapNetFetch}, args: `{"method":"GET","url":"SERVER/away?to=http%3A%2F%2Fother.example%2F"}`, status: said, says: "(not_granted)"},
		{name: "fetch-other-method", file: "fetch", args: `{"method":"DELETE","url":"SERVER/"}`, status: said, says: `"denied"`},

		{name: "forged-effect", status: effect.Failed, reason: "bad_reply"},
		{name: "forged-approval", status: effect.Failed, reason: "bad_reply"},
		{name: "forged-status", status: effect.Failed, reason: "bad_reply"},
		{name: "forged-tool", status: effect.Failed, reason: "bad_reply"},
		{name: "forged-mask", status: said},
		{name: "mask-in-arguments", file: "echo", args: `{"key":"[portcullis-redacted-by-host:admin]"}`, status: effect.Invalid, reason: "arguments_redacted"},
		{name: "secret-in-result", file: "echo", args: `{"v":"` + secret + `"}`, status: said, hides: []string{secret}},
		{name: "secret-in-error", file: "echo-error", args: `{"v":"` + secret + `"}`, status: effect.Failed, reason: "guest_error", hides: []string{secret}},
		{name: "secret-in-progress", file: "echo-log", args: `{"message":"` + secret + `"}`, status: effect.Failed, reason: "guest_trap", hides: []string{secret}},
		{name: "screen-in-error", file: "screen-error", status: effect.Failed, reason: "guest_error", hides: screen},
		{name: "screen-in-log", file: "screen-log", status: said, hides: screen},
		{name: "late-progress", play: quietAfterwards, status: said, says: `"ok":true`},
		{name: "schema-bomb", file: "plain", edit: schemaBomb(""), status: effect.Failed, reason: "output_schema", says: "takes too long"},
		{name: "schema-bomb-for-arguments", file: "plain", edit: schemaBomb("in"), status: effect.Invalid, reason: "arguments_schema", says: "takes too long"},
		{name: "schema-elsewhere", file: "plain", edit: schemaElsewhere, status: effect.Failed, reason: "schema_unusable"},
		{name: "stale-state", status: said, says: `"said":1}`},
		{name: "stale-table", status: said, says: `"said":1}`},
		{name: "name-of-another", file: "plain", play: clash, status: rejected, reason: "catalog_failed"},
		{name: "revoked-in-session", file: "kv-set", play: revoked, status: effect.Denied, reason: "capability_not_granted"},
	}
}

// schemaBomb describes a result, or the arguments, by forty definitions of which each refers to the next twice.
func schemaBomb(of string) func(*manifest.Manifest) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	bomb := []byte(`{"$ref":"#/$defs/d0","$defs":{` + defs.String() + `"d40":true}}`)
	return func(m *manifest.Manifest) {
		if of == "in" {
			m.Tools[0].InputSchema = bomb
			return
		}
		m.Tools[0].OutputSchema = bomb
	}
}

// schemaElsewhere has the host look for the schema of the result in a file of its own.
func schemaElsewhere(m *manifest.Manifest) {
	m.Tools[0].OutputSchema = []byte(`{"$ref":"file:///etc/passwd"}`)
}

// changed turns one byte of the installed module after a first call.
func changed(t *testing.T, w *world, p installed) answer {
	path := filepath.Join(w.home, plugin.FolderName, p.pin.ID, p.pin.Version, plugin.WasmName)
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.WriteFile(path, wasm, 0o600); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(path, append(wasm[:len(wasm)-1:len(wasm)-1], wasm[len(wasm)-1]^1), 0o600); err != nil {
		t.Fatal(err)
	}
	return w.call(t, p, "")
}

// widened has the installed plugin.json ask for more after the core pinned it.
func widened(t *testing.T, w *world, p installed) answer {
	path := filepath.Join(w.home, plugin.FolderName, p.pin.ID, p.pin.Version, manifest.FileName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Error(err)
		}
	}()
	m, err := manifest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m.Capabilities = []wire.Capability{{Name: "fs.write", Reason: "It says it needs it."}}
	wider, err := manifest.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, wider, 0o600); err != nil {
		t.Fatal(err)
	}
	return w.call(t, p, "")
}

func otherTool(name string) func(*testing.T, *world, installed) answer {
	return func(t *testing.T, w *world, p installed) answer { return w.callTool(t, p, name, "", turn.Selector{}) }
}

// keyOfAnother keeps a value with one plugin and looks for it with the guest.
func keyOfAnother(t *testing.T, w *world, p installed) answer {
	keeper := guest{name: "keeper", file: "kv-set"}
	k, no := w.install(t, &keeper, keeper.module(t, "authority"))
	if no.status != "" {
		t.Fatal(no)
	}
	if a := w.call(t, k, `{"key":"mine"}`); a.status != effect.Succeeded || !strings.Contains(a.shown[1], "version") {
		t.Fatalf("the value was not kept: %s", a)
	}
	if p.guest.file == "kv-list" {
		return w.call(t, p, `{}`)
	}
	return w.call(t, p, `{"key":"mine"}`)
}

// toolWithoutNeed calls a tool whose plugin may keep values, but which does not say that it does.
func toolWithoutNeed(t *testing.T, w *world, p installed) answer {
	g := *p.guest
	g.name, g.file, g.play = "tool-with-less", "tool-without-need", nil
	g.edit = func(m *manifest.Manifest) { m.Tools[0].Capabilities = nil }
	less, no := w.install(t, &g, g.module(t, "authority"))
	if no.status != "" {
		t.Fatal(no)
	}
	return w.call(t, less, "")
}

// fetchGranted grants the local server or, when told so, other places instead of it.
func fetchGranted(places ...string) func(*testing.T, *world, installed) answer {
	return func(t *testing.T, w *world, p installed) answer {
		if places == nil {
			places = []string{"net.fetch:" + w.server.host}
		}
		for _, place := range places {
			w.grant(t, p.pin.ID, place)
		}
		return w.call(t, p, p.guest.args)
	}
}

// quietAfterwards sees that no progress comes once the call is over.
func quietAfterwards(t *testing.T, w *world, p installed) answer {
	got := w.call(t, p, "")
	if len(got.shown) == 6 {
		t.Error("no progress was shown at all")
	}
	w.quiet(t, 10) // what came meanwhile would be an error of the first call
	return got
}

// clash has a core with two plugins that offer one tool.
func clash(t *testing.T, w *world, p installed) answer {
	twin := guest{name: "twin", file: "plain", edit: func(m *manifest.Manifest) { m.Tools[0].Name = p.tool }}
	second, no := w.install(t, &twin, twin.module(t, "authority"))
	if no.status != "" {
		t.Fatal(no)
	}
	w.writeCore(t, p.core, p.pin, second.pin)
	defer w.writeCore(t, p.core, p.pin)
	return w.call(t, p, "")
}

// revoked takes the grant away between two calls of one session.
func revoked(t *testing.T, w *world, p installed) answer {
	w.grant(t, p.pin.ID, "kv")
	first := w.call(t, p, `{"key":"mine"}`)
	if first.status != effect.Succeeded {
		t.Fatalf("with the grant: %s", first)
	}
	if _, err := w.host.Revoke(t.Context(), w.operator, p.pin.ID, "kv"); err != nil {
		t.Fatal(err)
	}
	return w.callTool(t, p, p.tool, `{"key":"mine"}`, turn.Selector{Kind: turn.Resume, Session: first.session})
}
