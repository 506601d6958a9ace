package wasmbin

import (
	"cmp"
	"slices"
)

// joinGap is how many zero bytes are written out to join two data segments. An
// engine keeps more than that for each segment of a module, and some again for
// each instance.
const joinGap = 128

// JoinData is m with neighbouring data segments made one, which puts the same
// bytes into memory: some linkers leave out every run of zeros and so write tens
// of thousands of segments. m itself is returned when its code may name segments,
// when they overlap, so that their order counts, or when nothing can be joined.
func (m *Module) JoinData() *Module {
	if m.DataCount != nil || len(m.Data) < 2 {
		return m
	}
	type placed struct {
		at uint64
		Data
	}
	all := make([]placed, len(m.Data))
	for i, d := range m.Data {
		at, ok := d.at()
		if !ok {
			return m // who knows where it lies
		}
		all[i] = placed{at, d}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	var joined []Data
	var end uint64
	for _, d := range all {
		switch last := len(joined) - 1; {
		case d.at < end:
			return m
		case last >= 0 && d.at-end <= joinGap:
			joined[last].Bytes = append(append(joined[last].Bytes, make([]byte, d.at-end)...), d.Bytes...)
		default:
			d.Bytes = slices.Clip(d.Bytes) // the file's: appending copies it
			joined = append(joined, d.Data)
		}
		end = d.at + uint64(len(d.Bytes))
	}
	if len(joined) == len(m.Data) {
		return m
	}
	out := *m
	out.Data = joined
	return &out
}

// at is where an active segment goes, when that is a number.
func (d *Data) at() (uint64, bool) {
	if d.Mode == 1 || d.Memory != 0 || len(d.Offset) < 3 || d.Offset[0] != opI32Const {
		return 0, false
	}
	r := reader{buf: d.Offset, pos: 1}
	n := r.signed(32)
	if r.no != nil || r.left() != 1 {
		return 0, false
	}
	return uint64(uint32(n)), true
}
