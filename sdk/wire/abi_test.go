package wire_test

import (
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// The table of the contract, written out a second time: a host function that
// loses its capability here is an ability that nobody has to grant.
func TestImportsNeedTheirCapability(t *testing.T) {
	for name, needs := range map[string]string{
		"portcullis_log": "", "portcullis_emit": "", "portcullis_now": "", "portcullis_random": "",
		"portcullis_load": "", "portcullis_store": "",
		"portcullis_http":    "net.fetch",
		"portcullis_fs_stat": "fs.read", "portcullis_fs_read": "fs.read", "portcullis_fs_list": "fs.read",
		"portcullis_fs_write": "fs.write", "portcullis_fs_mkdir": "fs.write", "portcullis_fs_remove": "fs.write", "portcullis_fs_rename": "fs.write",
		"portcullis_kv_get": "kv", "portcullis_kv_set": "kv", "portcullis_kv_delete": "kv", "portcullis_kv_list": "kv",
	} {
		imp, ok := wire.LookupImport("extism:host/user", name)
		if !ok || imp.Needs != needs || imp.Refused != "" {
			t.Errorf("%s: known %v, needs %q, refused %q; want needs %q", name, ok, imp.Needs, imp.Refused, needs)
		}
	}
}

func TestRefusedKernelImportsNameTheirReplacement(t *testing.T) {
	for _, name := range []string{"http_request", "http_status_code", "http_headers", "var_get", "var_set"} {
		imp, ok := wire.LookupImport("extism:host/env", name)
		if !ok || imp.Refused == "" {
			t.Errorf("%s is served (known %v)", name, ok)
		}
	}
	for _, name := range []string{"input_load_u64", "alloc", "output_set", "config_get", "log_info", "get_log_level"} {
		if imp, ok := wire.LookupImport("extism:host/env", name); !ok || imp.Refused != "" || imp.Needs != "" {
			t.Errorf("%s is not served freely: %+v, %v", name, imp, ok)
		}
	}
}

func TestUnknownImportsAreUnknown(t *testing.T) {
	for _, m := range [][2]string{
		{"extism:host/env", "portcullis_http"},
		{"extism:host/user", "http_request"},
		{"extism:host/user", "portcullis_exec"},
		{"env", "abort"},
		{"", ""},
		{"wasi_unstable", "fd_write"},
	} {
		if _, ok := wire.LookupImport(m[0], m[1]); ok {
			t.Errorf("%s %s is known", m[0], m[1])
		}
	}
	if _, ok := wire.LookupImport("wasi_snapshot_preview1", "fd_write"); !ok {
		t.Error("WASI preview 1 is not known")
	}
}

func TestSplitImportUndoesJoin(t *testing.T) {
	module, name, ok := wire.SplitImport(wire.JoinImport(wire.ModuleHost, wire.ImportHTTP))
	if !ok || module != wire.ModuleHost || name != wire.ImportHTTP {
		t.Fatalf("got %q, %q, %v", module, name, ok)
	}
	for _, s := range []string{"", "x", ".x", "x."} {
		if _, _, ok := wire.SplitImport(s); ok {
			t.Errorf("%q was split", s)
		}
	}
}
