package sandbox

import "fmt"

// LoadCode is why a plugin was not loaded.
type LoadCode string

// The codes.
const (
	CodeDigest      LoadCode = "digest"      // the file is not the one the manifest pins
	CodeNotWasm     LoadCode = "not_wasm"    // no core module at all
	CodeForeign     LoadCode = "foreign"     // a module of another system, which the sentence names
	CodeMalformed   LoadCode = "malformed"   // broken, or past the bounds of this host
	CodeABI         LoadCode = "abi"         // another contract version
	CodeImport      LoadCode = "import"      // imports what nobody serves
	CodeWithheld    LoadCode = "withheld"    // imports what is never given to a guest
	CodeUndeclared  LoadCode = "undeclared"  // imports what its manifest does not say
	CodeNotGranted  LoadCode = "not_granted" // imports what the operator has not granted
	CodeExport      LoadCode = "export"      // an entry point is missing or has the wrong type
	CodeMemory      LoadCode = "memory"      // starts with more memory than its limit
	CodeUncompiled  LoadCode = "uncompiled"  // the engine refused it
	CodeUnavailable LoadCode = "unavailable" // the engine is closed, the caller gave up, or the cache folder is full

	CodeCompileTimeout LoadCode = "compile_timeout" // takes longer to compile than a module may
	CodeCompileMemory  LoadCode = "compile_memory"  // takes more memory to compile than a module may
)

// LoadError says why a plugin was not loaded, in one sentence that ends with
// what to do. Nothing of the plugin has run.
type LoadError struct {
	Plugin   string
	Code     LoadCode
	Sentence string
	Err      error // the engine's words, for the log; may be nil
}

// Error is the sentence.
func (e *LoadError) Error() string { return e.Sentence }

// Unwrap gives the engine's error.
func (e *LoadError) Unwrap() error { return e.Err }

// refuse makes a LoadError whose sentence begins with the plugin.
func refuse(plugin string, code LoadCode, format string, args ...any) *LoadError {
	return &LoadError{Plugin: plugin, Code: code, Sentence: "plugin " + plugin + " " + fmt.Sprintf(format, args...)}
}
