package wasmbin

import "fmt"

// Code is the stable reason of a [Refusal].
type Code string

// Reasons that are faults of the module.
const (
	CodeHeader      Code = "header"      // not a core module of version 1
	CodeTruncated   Code = "truncated"   // a value, a section or the module ends too early
	CodeNumber      Code = "number"      // not a LEB128 number of the size that is due
	CodeSection     Code = "section"     // unknown, repeated, out of order, or with bytes left over
	CodeCount       Code = "count"       // a vector longer than the bytes that could hold it
	CodeForm        Code = "form"        // a byte that is no kind, type, flag or form known here
	CodeName        Code = "name"        // not UTF-8, or too long
	CodeIndex       Code = "index"       // points at something that is not there
	CodeMismatch    Code = "mismatch"    // two sections disagree about a count
	CodeInstruction Code = "instruction" // unknown, or encoded in a way an engine could read differently
	CodeStructure   Code = "structure"   // blocks of a body or initialiser that do not nest
	CodeFeature     Code = "feature"     // of a proposal that is not enabled
	CodeReserved    Code = "reserved"    // uses a name that belongs to the host
)

// Reasons that are limits passed; each is named after its field in [Limits].
const (
	CodeModuleBytes  Code = "module_bytes"
	CodeTypes        Code = "types"
	CodeValues       Code = "values"
	CodeImports      Code = "imports"
	CodeFunctions    Code = "functions"
	CodeBodyBytes    Code = "body_bytes"
	CodeLocals       Code = "locals"
	CodeLocalBlocks  Code = "local_blocks"
	CodeBlockValues  Code = "block_values"
	CodeBlocks       Code = "blocks"
	CodeLoops        Code = "loops"
	CodeForks        Code = "forks"
	CodeNesting      Code = "nesting"
	CodeDepth        Code = "depth"
	CodeBranchTable  Code = "branch_table"
	CodeEffort       Code = "effort"
	CodeTables       Code = "tables"
	CodeTableEntries Code = "table_entries"
	CodeTableGrow    Code = "table_grow"
	CodeMemories     Code = "memories"
	CodeMemoryPages  Code = "memory_pages"
	CodeGlobals      Code = "globals"
	CodeExports      Code = "exports"
	CodeTags         Code = "tags"
	CodeStart        Code = "start"
	CodeElements     Code = "elements"
	CodeData         Code = "data"
	CodeDataBytes    Code = "data_bytes"
	CodeCustomBytes  Code = "custom_bytes"
)

// Refusal says why a module is not accepted. It is the only error type of this
// package's reader, verifier and meter.
type Refusal struct {
	Code   Code
	Offset int // of the byte in the file at which it was noticed
	// Sentence begins with "it" and has no full stop. It quotes no bytes of the
	// module, so that it may be shown as it is.
	Sentence string
}

// Error is the sentence and the byte.
func (r *Refusal) Error() string { return fmt.Sprintf("%s (byte %d)", r.Sentence, r.Offset) }

func refuse(code Code, offset int, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Offset: offset, Sentence: fmt.Sprintf(format, args...)}
}
