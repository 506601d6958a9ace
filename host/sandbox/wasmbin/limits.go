package wasmbin

// Features are proposals beyond WebAssembly 1.0. A module that uses one which
// is not enabled is refused with [CodeFeature].
type Features uint32

// The proposals whose every instruction is known here.
const (
	SignExtension Features = 1 << iota
	SaturatingConversion
	MultiValue
	BulkMemory
	ReferenceTypes
	SIMD
	TailCall
	Threads
	Exceptions // with exnref: throw, throw_ref, try_table
	ExtendedConst

	// Core1 is WebAssembly 1.0.
	Core1 Features = 0
	// Core2 is WebAssembly 2.0, what ordinary toolchains emit.
	Core2 = SignExtension | SaturatingConversion | MultiValue | BulkMemory | ReferenceTypes | SIMD
	// AllFeatures is everything this package can walk.
	AllFeatures = Core2 | TailCall | Threads | Exceptions | ExtendedConst
)

// Limits bound one module. Every field is a maximum and 0 allows nothing: begin
// with [DefaultLimits].
type Limits struct {
	Features Features

	ModuleBytes int
	Types       int
	Values      int // parameters, and results, of one signature
	NameBytes   int // one import, export or section name
	Imports     int
	Functions   int // not imported
	Tables      int
	// TableEntries is the sum over all tables of what each holds: its minimum,
	// or its maximum if it has one and TableGrow is set.
	TableEntries int
	// TableGrow allows the instruction table.grow. Tables without a maximum can
	// then grow without bound: call [Module.PinTables] before the module runs.
	TableGrow bool
	Memories  int
	// MemoryPages bounds the pages (64 KiB) a memory begins with. Its maximum is
	// for the engine's own limit: toolchains declare the largest.
	MemoryPages int
	Globals     int
	Tags        int
	Exports     int
	Start       bool // a start function is allowed
	Segments    int  // element segments
	Elements    int  // entries of all of them
	Data        int  // data segments
	DataBytes   int  // of all of them
	CustomBytes int  // of all custom sections

	BodyBytes int // of one function
	Locals    int // of one function, without its parameters
	// LocalBlocks bounds locals and parameters of a function times its blocks:
	// an optimising compiler may make a value for each pair.
	LocalBlocks int
	// BlockValues bounds the sum over a function's blocks of the values each
	// takes and gives, times the branches: the same trap without locals.
	BlockValues int
	Blocks      int // of one function
	Loops       int // of one function
	Forks       int // if and br_if, of one function
	Nesting     int // blocks within blocks
	Depth       int // ifs, loops and tries within each other
	BranchTable int // labels of all br_table of one function

	// Effort bounds what compiling all functions together may take, whatever
	// each may: 40 for an instruction, 1000 for a function, and for each
	// function the square of its forks, a quarter of that of its blocks, and 20
	// times its LocalBlocks. An optimising compiler does some 40 million a
	// second.
	Effort int
}

// DefaultLimits are several times what compilers emit for real plugins and well
// below what makes an engine slow; tests hold them against both.
func DefaultLimits() Limits {
	return Limits{
		Features:     Core2,
		ModuleBytes:  64 << 20,
		Types:        10_000,
		Values:       128,
		NameBytes:    1 << 10,
		Imports:      512,
		Functions:    100_000,
		Tables:       16,
		TableEntries: 65_536,
		Memories:     1,
		MemoryPages:  65_536,
		Globals:      10_000,
		Tags:         0,
		Exports:      4096,
		Start:        true,
		Segments:     10_000,
		Elements:     200_000,
		Data:         500_000,
		DataBytes:    64 << 20,
		CustomBytes:  32 << 20,
		BodyBytes:    512 << 10,
		Locals:       50_000,
		LocalBlocks:  2_000_000,
		BlockValues:  100_000,
		Blocks:       12_000,
		Loops:        1000,
		Forks:        6000,
		Nesting:      8192,
		Depth:        512,
		BranchTable:  16_384,
		Effort:       1_000_000_000,
	}
}
