package wasmbin

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Options say how a metered module reaches its host.
type Options struct {
	// YieldModule and YieldName are the import (i64) -> i64 that is called with
	// what is left of the fuel, a number below zero, and answers with the new
	// amount; or traps. No module that imports anything else from YieldModule is
	// accepted: a guest that could call it might lie about its fuel.
	YieldModule, YieldName string
	// FuelExport is the name under which the hidden global is exported, a
	// mutable i64. A module that exports the name itself is refused.
	FuelExport string
	// Fuel is what the global begins with; with 0 the first charge yields.
	Fuel int64
	// Stack bounds the native stack of one call from the host in bytes, as this
	// package estimates frames; 0 leaves it to the engine. A guest that passes it
	// calls the yield with [StackPassed], and traps if that returns.
	Stack int64
	// StackExport, if not empty, exports what is left of it, a mutable i64, for a
	// host that knows better what frames take. A module that exports the name
	// itself is refused.
	StackExport string
	// Span is what one charge may cover in advance, 0 means 96. Less is more
	// exact and slower; 1 counts every instruction.
	Span int
	// GlobalPrefix, if not empty, exports every mutable global that is not
	// imported as the prefix and its index, for snapshots. No module that
	// exports a name with the prefix is accepted.
	GlobalPrefix string
}

// StackPassed is what the yield is called with when the guest has gone deeper
// than Options.Stack. No debt of fuel is that large.
const StackPassed = math.MinInt64

// Report says what [Meter] did.
type Report struct {
	FuelExport string
	FuelGlobal uint32 // its index
	// StackGlobal is the index of the i64 that holds the bytes of stack that are
	// left, if there is a bound. Whatever a call does, short of a trap, it is
	// afterwards what it was before.
	StackGlobal uint32
	YieldFunc   uint32   // its index; functions from there on moved up by one
	Globals     []string // exported under GlobalPrefix, by index
	Functions   int      // that pay for themselves
	Leaves      int      // that their callers pay for
	Charges     int      // places that pay
	Checks      int      // places that may yield
	Splitters   int      // functions that were added, after all others, for long bulk instructions
	// Frames is what each function of the module counts against the stack, 0 for
	// those that do not: no more than [MaxUncounted] of these stand in each other.
	Frames []int64
}

// Meter returns a module that does what m does and pays for it: a hidden i64
// global is reduced at function entries, loop headers and within long straight
// code, and when it falls below zero the host is asked through the import. The
// guest cannot reach the global or the import: every index of the module was
// held against its space before they existed.
//
// Nothing the guest can do runs unpaid for long: a loop pays and checks at each
// turn, a call that may lead to further calls pays and checks on entry, bulk
// instructions pay for their length before they begin. Functions below maxLeaf
// that lead nowhere are paid by their callers; only a call from the host gets
// them for nothing.
//
// Custom sections are kept; in the name section functions are renumbered, in
// others, such as DWARF, code offsets are not. m stays as it was. The result is
// the same for the same input. The error is a [*Refusal].
func Meter(m *Module, opt Options) (*Module, Report, error) {
	if no := opt.reserved(m); no != nil {
		return nil, Report{}, no
	}
	imported := m.imported(KindFunc)
	mt := meter{
		m: m, opt: opt,
		out:      &Module{},
		s:        m.spaces(m.features),
		imported: uint32(imported),
		leaves:   make([]int, len(m.Funcs)),
	}
	if mt.plan.span = opt.Span; opt.Span <= 0 {
		mt.plan.span = usualSpan
	}
	*mt.out = *m
	mt.fuel = uint32(m.imported(KindGlobal) + len(m.Globals))
	mt.stack = mt.fuel + 1
	mt.report = Report{FuelExport: opt.FuelExport, FuelGlobal: mt.fuel, StackGlobal: mt.stack, YieldFunc: mt.imported}
	if no := mt.findLeaves(); no != nil {
		return nil, Report{}, no
	}
	mt.declare()
	if no := mt.rewrite(); no != nil {
		return nil, Report{}, no
	}
	mt.split()
	mt.rename()
	return mt.out, mt.report, nil
}

// reserved refuses a module that uses names of the host.
func (opt *Options) reserved(m *Module) *Refusal {
	for _, i := range m.Imports {
		if i.Module == opt.YieldModule {
			return refuse(CodeReserved, 0, "it imports from the module %q, which belongs to the host", opt.YieldModule)
		}
	}
	for _, e := range m.Exports {
		if e.Name == opt.FuelExport || opt.StackExport != "" && e.Name == opt.StackExport || opt.GlobalPrefix != "" && strings.HasPrefix(e.Name, opt.GlobalPrefix) {
			return refuse(CodeReserved, 0, "it exports a name that belongs to the host")
		}
	}
	return nil
}

// meter is one rewriting.
type meter struct {
	m, out   *Module
	opt      Options
	s        spaces
	imported uint32 // functions; also the index of the yield
	fuel     uint32 // index of the global
	stack    uint32 // index of the global of stack bytes that are left, if there is a bound
	leaves   []int  // price of each function that its callers pay, else 0
	plan     plan
	loops    []uint32 // around the code that is written: see open
	prices   []int    // of those loops
	openers  []int    // instructions that opened the blocks around
	report   Report

	splitters []splitter
}

// moved is where a function index of m is in out.
func (mt *meter) moved(f uint32) uint32 {
	if f >= mt.imported {
		f++
	}
	return f
}

// leaf is the price of a callee that does not pay itself.
func (mt *meter) leaf(f uint32) int {
	if f < mt.imported {
		return 0
	}
	return mt.leaves[f-mt.imported]
}

// declare adds type, import, global and exports, and moves function indexes in
// everything but code.
func (mt *meter) declare() {
	m, out := mt.m, mt.out
	out.Types = append(slices.Clip(m.Types), FuncType{[]ValType{I64}, []ValType{I64}})
	out.Imports = append(slices.Clip(m.Imports), Import{
		Module: mt.opt.YieldModule, Name: mt.opt.YieldName, Kind: KindFunc, Type: uint32(len(m.Types)),
	})
	out.Globals = slices.Clone(m.Globals)
	for i := range out.Globals {
		out.Globals[i].Init = mt.expr(out.Globals[i].Init)
	}
	out.Globals = append(out.Globals, hidden(mt.opt.Fuel))
	if mt.opt.Stack > 0 {
		out.Globals = append(out.Globals, hidden(mt.opt.Stack))
	}

	out.Exports = slices.Clone(m.Exports)
	for i := range out.Exports {
		if e := &out.Exports[i]; e.Kind == KindFunc {
			e.Index = mt.moved(e.Index)
		}
	}
	out.Exports = append(out.Exports, Export{mt.opt.FuelExport, KindGlobal, mt.fuel})
	if mt.opt.Stack > 0 && mt.opt.StackExport != "" {
		out.Exports = append(out.Exports, Export{mt.opt.StackExport, KindGlobal, mt.stack})
	}
	if mt.opt.GlobalPrefix != "" {
		first := m.imported(KindGlobal)
		for i, g := range m.Globals {
			if g.Mutable {
				name := fmt.Sprintf("%s%d", mt.opt.GlobalPrefix, first+i)
				mt.report.Globals = append(mt.report.Globals, name)
				out.Exports = append(out.Exports, Export{name, KindGlobal, uint32(first + i)})
			}
		}
	}
	if m.Start != nil {
		start := mt.moved(*m.Start)
		out.Start = &start
	}
	out.Segments = slices.Clone(m.Segments)
	for i := range out.Segments {
		s := &out.Segments[i]
		s.Offset = mt.expr(s.Offset)
		s.Funcs = slices.Clone(s.Funcs)
		for e := range s.Funcs {
			s.Funcs[e] = mt.moved(s.Funcs[e])
		}
		s.Exprs = slices.Clone(s.Exprs)
		for e := range s.Exprs {
			s.Exprs[e] = mt.expr(s.Exprs[e])
		}
	}
	out.Data = m.Data // offsets are numbers and globals
}

// hidden is a mutable i64 global that begins with a number.
func hidden(begin int64) Global {
	init := writer{out: []byte{opI64Const}}
	init.signed(begin)
	init.byte(opEnd)
	return Global{GlobalType{I64, true}, init.out}
}

// expr moves function indexes of an initialiser.
func (mt *meter) expr(code []byte) []byte {
	if !slices.Contains(code, opRefFunc) {
		return code // the common case; the byte may also be part of a number
	}
	w := writer{}
	r := &reader{buf: code}
	for r.no == nil && r.left() > 0 {
		in := r.next(&mt.s, 0)
		w.moved(mt, &in, code)
	}
	return w.out
}

// moved writes an instruction with its function index moved.
func (w *writer) moved(mt *meter, in *instr, code []byte) {
	switch in.op {
	case opCall, opReturnCall, opRefFunc:
		w.byte(in.op)
		w.u32(mt.moved(in.x))
	default:
		w.raw(code[in.start:in.end])
	}
}
