package wasmbin

// Costs in units of fuel. One unit is about one simple machine operation; the
// sum a guest pays is never less than the instructions it executed, structure
// excepted, and is the same on every engine and machine.
const (
	costCall     = 4    // besides what the callee pays
	costDivide   = 4    // division, remainder, square root
	costGrow     = 1024 // memory.grow, table.grow
	costBulk     = 16   // and one unit for each bulkBytes
	bulkShift    = 4    // 16 bytes of memory a unit
	tableShift   = 0    // one entry of a table a unit
	maxLeaf      = 32   // a function up to this cost may be paid by its callers
	usualSpan    = 96   // what one charge covers at most, unless one instruction costs more
	maxPrologue  = 16   // what a loop may pay for the code before it
	exitsNothing = -1
)

// cost is the static price of one instruction. Instructions that become no
// machine code are free: they cannot be repeated without a loop or a call, and
// those are not.
func cost(in *instr) int {
	switch op := in.op; {
	case op == opNop || op == opBlock || op == opLoop || op == opElse || op == opEnd || op == opTryTable || op == opDrop:
		return 0
	case op == opCall || op == opReturnCall || op == opCallIndirect || op == opReturnIndirect:
		return costCall
	case op == opMemoryGrow:
		return costGrow
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82, op == 0x91, op == 0x95, op == 0x9f, op == 0xa3:
		return costDivide
	case op == opMisc:
		if _, bulk := bulkOf(in); bulk {
			return costBulk
		}
		if in.sub == miscTableGrow {
			return costGrow
		}
	case op == opThrow || op == opThrowRef:
		return costGrow
	}
	return 1
}

// bulkOf tells an instruction whose last operand is a length, and by how much
// to shift it right to get its price.
func bulkOf(in *instr) (shift int, bulk bool) {
	if in.op != opMisc {
		return 0, false
	}
	switch in.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		return bulkShift, true
	case miscTableInit, miscTableCopy, miscTableFill:
		return tableShift, true
	}
	return 0, false
}
