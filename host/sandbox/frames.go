package sandbox

import (
	"bytes"
	enc "encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/b3abf3ee/portcullis/host/sandbox/wasmbin"
)

// stackFor is how much of the stack that the meter counts a call of a module may take, so that what it really takes stays
// below [maxStack]. charged is what the meter counts for each function's frame, 0 where it counts nothing; taken is what the
// compiled function asks for. Where every frame takes what is counted or less it is all but maxStack. The error is about a
// module that no such amount bounds.
func stackFor(charged, taken []int64) (int64, error) {
	if len(charged) > len(taken) {
		return 0, fmt.Errorf("sandbox: machine code of %d functions, %d have frames", len(taken), len(charged))
	}
	// A function asks for its frame before it counts it, and functions that are not counted can stand on top of it.
	most, mostFree, at := int64(0), int64(0), 0
	for i, n := range taken {
		counted := i < len(charged) && charged[i] > 0
		if counted && n > most {
			most = n
		} else if !counted && n > mostFree {
			mostFree, at = n, i
		}
	}
	room := maxStack - most - wasmbin.MaxUncounted*mostFree
	if room <= 0 {
		return 0, fmt.Errorf("one of its functions takes %d bytes of stack, another, number %d of its own, %d", most, at, mostFree)
	}
	stack := int64(room)
	for i, c := range charged {
		if c > 0 && taken[i] > c {
			stack = min(stack, room*c/taken[i])
		}
	}
	return stack, nil
}

// errPrologue says that machine code does not begin as the engine's compiler writes it.
var errPrologue = errors.New("sandbox: the engine's machine code is not as it was: its frames cannot be told")

// framesOf reads from a file of the engine's cache what each function of a module asks for on the stack, in bytes. Every
// function begins with that number, which the engine compares with what is left: it is the frame with the arguments of the
// dearest call in it and the return address, so the frames of functions that stand in each other take no more than their sum.
//
// The file is the magic, a length and the engine's version, the number of functions, the offset of each, the length of the
// code, and the code; see wazero's internal/engine/wazevo/engine_cache.go, version 1.12.
func framesOf(file io.ReaderAt, arch string) ([]int64, error) {
	prologue := map[string]func([]byte) (int64, bool){"amd64": prologueAMD64, "arm64": prologueARM64}[arch]
	if prologue == nil {
		return nil, fmt.Errorf("sandbox: frames on %s: %w", arch, errors.ErrUnsupported)
	}
	head := make([]byte, len(codeMagic)+1)
	if _, err := file.ReadAt(head, 0); err != nil || string(head[:len(codeMagic)]) != codeMagic {
		return nil, errors.Join(errPrologue, err)
	}
	at := int64(len(head)) + int64(head[len(codeMagic)])
	var count [4]byte
	if _, err := file.ReadAt(count[:], at); err != nil {
		return nil, errors.Join(errPrologue, err)
	}
	n := int64(enc.LittleEndian.Uint32(count[:]))
	if n > maxFunctions {
		return nil, fmt.Errorf("%w: %d functions", errPrologue, n)
	}
	offsets := make([]byte, 8*n+8) // and the length of the code
	if _, err := file.ReadAt(offsets, at+4); err != nil {
		return nil, errors.Join(errPrologue, err)
	}
	code := at + 4 + int64(len(offsets))
	size := enc.LittleEndian.Uint64(offsets[8*n:])
	taken := make([]int64, n)
	begin := make([]byte, prologueBytes)
	for i := range taken {
		offset := enc.LittleEndian.Uint64(offsets[8*i:])
		if offset >= size {
			return nil, fmt.Errorf("%w: function %d", errPrologue, i)
		}
		got, err := file.ReadAt(begin, code+int64(offset))
		if err != nil && err != io.EOF {
			return nil, errors.Join(errPrologue, err)
		}
		var ok bool
		if taken[i], ok = prologue(begin[:got]); !ok {
			return nil, fmt.Errorf("%w: function %d: %x", errPrologue, i, begin[:got])
		}
	}
	return taken, nil
}

const (
	codeMagic     = "WAZEVO"
	maxFunctions  = 1 << 20 // more than the verifier lets through, and what the meter adds
	prologueBytes = 40
)

// prologueAMD64 reads push rbp; mov rbp, rsp; sub rsp, n.
func prologueAMD64(code []byte) (int64, bool) {
	code, ok := bytes.CutPrefix(code, []byte{0x55, 0x48, 0x89, 0xe5, 0x48})
	switch {
	case ok && len(code) >= 3 && code[0] == 0x83 && code[1] == 0xec && code[2] < 0x80:
		return int64(code[2]), true
	case ok && len(code) >= 6 && code[0] == 0x81 && code[1] == 0xec && code[5] < 0x80:
		return int64(enc.LittleEndian.Uint32(code[2:])), true
	}
	return 0, false
}

// prologueARM64 reads up to sub x27, sp, n. What precedes it makes room for arguments and saves the return address.
func prologueARM64(code []byte) (int64, bool) {
	const tmp, sp = 27, 31
	n := uint64(0) // in x27
	for ; len(code) >= 4; code = code[4:] {
		in := enc.LittleEndian.Uint32(code)
		half, shift := uint64(in>>5&0xffff), 16*(in>>21&3)
		switch {
		case in&0xff80001f == 0xd2800000|tmp: // movz x27, half, lsl shift
			n = half << shift
		case in&0xff80001f == 0xf2800000|tmp: // movk x27, half, lsl shift
			n = n&^(0xffff<<shift) | half<<shift
		case in&0xffc003ff == 0xb2400000|sp<<5|tmp && in>>10&0x3f < 62: // orr x27, xzr, a run of ones
			ones, right := in>>10&0x3f+1, in>>16&0x3f
			n = 1<<ones - 1
			n = n>>right | n<<(64-right)
		case in == 0xcb206000|tmp<<16|sp<<5|sp: // sub sp, sp, x27
		case in == 0xa9bf6ffe, in == 0xa9bf7ffe: // stp x30, x27 or xzr, [sp, -16]!
		case in&0xff8003ff == 0xd1000000|sp<<5|tmp: // sub x27, sp, n
			n = uint64(in >> 10 & 0xfff)
			if in>>22&1 != 0 {
				n <<= 12
			}
			return int64(n), true
		case in == 0xcb206000|tmp<<16|sp<<5|tmp: // sub x27, sp, x27
			return int64(n), n < 1<<31
		default:
			return 0, false
		}
	}
	return 0, false
}

// stackIn is [stackFor] a module whose machine code a compiler left in a folder.
func stackIn(folder, name string, charged []int64) (int64, error) {
	file, err := openOwn(filepath.Join(folder, name))
	if err != nil {
		return 0, &diskError{err}
	}
	defer file.Close()
	taken, err := framesOf(file, runtime.GOARCH)
	if err != nil {
		return 0, err
	}
	stack, err := stackFor(charged, taken)
	if err != nil {
		return 0, &compileError{CodeMalformed, err}
	}
	return stack, nil
}
