package sandbox

import (
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// spec is what a module is held against.
type spec struct {
	name     string
	exports  []string
	declared []string // imports that the manifest says; nil when there is none
	granted  Abilities
	limits   Limits
	settings map[string]string
	// describing links abilities without a grant; every call of one is answered
	// with "denied".
	describing bool
}

// signature is the type of a function that the host serves.
type signature struct{ params, results []byte }

// served is every function a module may import, by module and name.
type served map[string]map[string]signature

// check holds the module against the spec: first what it is at all, then each
// import, then each entry point, then its memory. Nothing has been compiled.
func (m *binary) check(sp spec, host served) *LoadError {
	if le := m.foreign(sp); le != nil {
		return le
	}
	for _, imp := range m.imports {
		if le := m.checkImport(sp, imp, host); le != nil {
			return le
		}
	}
	for _, name := range sp.exports {
		if initializes(name) {
			continue
		}
		t, ok := m.exported(name)
		if _, command := m.exported("_start"); command && (!ok || name == "_start") {
			return refuse(sp.name, CodeForeign, "is a WASI command (it exports _start for entry points): build it as a reactor, in Go with -buildmode=c-shared")
		}
		if !ok {
			return refuse(sp.name, CodeExport, "does not export the function %s: build it again with `portcullis plugin build`", name)
		}
		if !t.equal(nil, []byte{valueI32}) {
			return refuse(sp.name, CodeExport, "exports %s with the wrong type: it must take nothing and return one i32", name)
		}
	}
	for _, init := range initializers {
		if t, ok := m.exported(init.export); ok && !t.equal(init.params, nil) {
			return refuse(sp.name, CodeExport, "exports %s with the wrong type: build it again with a current toolchain", init.export)
		}
	}
	if need := uint64(m.memoryMin) * pageSize; need > uint64(sp.limits.Memory) {
		return refuse(sp.name, CodeMemory, "starts with %d bytes of memory, more than its limit of %d: raise memory_bytes in its limits", need, sp.limits.Memory)
	}
	return nil
}

// foreign recognises modules that were built for something else.
func (m *binary) foreign(sp spec) *LoadError {
	for _, e := range m.exports {
		if e.name == "opa_eval_ctx_new" || e.name == "opa_wasm_abi_version" {
			return refuse(sp.name, CodeForeign, "is an Open Policy Agent policy, not a plugin: this host does not run the OPA ABI")
		}
	}
	for _, i := range m.imports {
		switch {
		case i.module == "env" && strings.HasPrefix(i.name, "extism_"):
			return refuse(sp.name, CodeForeign, "was built for the old Extism ABI (env.%s): rebuild it with a current PDK, which imports from %s", i.name, wire.ModuleKernel)
		case i.module == "env" && strings.HasPrefix(i.name, "opa_"):
			return refuse(sp.name, CodeForeign, "is an Open Policy Agent policy, not a plugin: this host does not run the OPA ABI")
		case strings.HasPrefix(i.module, "wasi:") || strings.HasPrefix(i.module, "cm32p2") || i.module == "$root" || strings.HasPrefix(i.module, "[export]"):
			return refuse(sp.name, CodeForeign, "is the inside of a WebAssembly component (it imports %s): build it for target wasip1, without WIT bindings", printable(i.module))
		case i.module == "wasi_unstable":
			return refuse(sp.name, CodeForeign, "was built for WASI snapshot 0 (wasi_unstable): rebuild it for target wasip1")
		case i.module == "gojs" || i.module == "go":
			return refuse(sp.name, CodeForeign, "was built with GOOS=js: build it with GOOS=wasip1 GOARCH=wasm")
		case i.module == "wbg" || strings.HasPrefix(i.module, "__wbindgen"):
			return refuse(sp.name, CodeForeign, "was built for a browser (wasm-bindgen): build it for target wasip1")
		}
	}
	return nil
}

func (m *binary) checkImport(sp spec, imp binImport, host served) *LoadError {
	full := printable(imp.module) + "." + printable(imp.name)
	if imp.kind != wasmbin.KindFunc {
		return refuse(sp.name, CodeImport, "imports %s, which is not a function: this host shares no memory, table or global", full)
	}
	known, ok := wire.LookupImport(imp.module, imp.name)
	sig, linked := host[imp.module][imp.name]
	switch {
	case known.Refused != "":
		return refuse(sp.name, CodeWithheld, "imports %s, which no guest gets: %s", full, known.Refused)
	case ok && linked:
	case imp.module == wire.ModuleHost && strings.HasPrefix(imp.name, "portcullis_"):
		return refuse(sp.name, CodeABI, "imports %s and so needs a host ABI newer than %s: this host serves %s; update the host or build the plugin with an older SDK", full, wire.ABI, wire.ABI)
	case imp.module == wire.ModuleHost:
		return refuse(sp.name, CodeImport, "imports %s, a host function of another application: this host serves %s only", full, wire.ABI)
	default:
		return refuse(sp.name, CodeImport, "imports %s, which this host does not serve: it serves %s, %s and %s", full, wire.ModuleKernel, wire.ModuleHost, wire.ModuleWASI)
	}
	if !m.types[imp.typ].equal(sig.params, sig.results) {
		return refuse(sp.name, CodeImport, "imports %s with the wrong type: build it with a current SDK", full)
	}
	if imp.module == wire.ModuleWASI {
		return nil // the Go runtime's own; no capability hangs on it
	}
	if sp.declared != nil && !slices.Contains(sp.declared, wire.JoinImport(imp.module, imp.name)) {
		return refuse(sp.name, CodeUndeclared, "imports %s, which its plugin.json does not say: build it again with `portcullis plugin build`", full)
	}
	if need := abilityOf(known.Needs); !sp.granted.Has(need) && !sp.describing {
		word := known.Needs
		if name, err := capability.Parse(word); err == nil {
			word = name.Example()
		}
		return refuse(sp.name, CodeNotGranted, "asks for %s, not granted: `%s`", imp.name, capability.GrantLine(sp.name, word, ""))
	}
	return nil
}

// printable makes a name from a binary safe inside a sentence.
func printable(s string) string { return escape([]byte(s), 80) }

// initializers are what toolchains export to be run before an entry point: a
// WASI reactor's, Haskell's runtime, C constructors.
var initializers = []struct {
	export string
	params []byte
}{
	{wire.ExportInitialize, nil},
	{"hs_init", []byte{valueI32, valueI32}},
	{"__wasm_call_ctors", nil},
}

func initializes(export string) bool {
	for _, i := range initializers {
		if i.export == export {
			return true
		}
	}
	return false
}

// startWith lists the initializers to run: the start function, then as Extism
// hosts choose them, constructors only where there is neither of the others.
func (m *binary) startWith() []string {
	var names []string
	if m.start {
		names = []string{startExport}
	}
	ctors := true
	for _, i := range initializers {
		if _, ok := m.exported(i.export); ok && (i.export != "__wasm_call_ctors" || ctors) {
			names, ctors = append(names, i.export), false
		}
	}
	return names
}
