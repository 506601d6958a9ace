package sandbox

// prepareVersion names what read and metered make of a module. It is part of the name of what is kept on disk: a change
// of the verifier or the meter must raise it, and a test that pins their output says so.
const prepareVersion = "6"

// readyModule is a verified, metered module with what the original declared.
type readyModule struct {
	declares *binary
	code     []byte
	frames   []int64 // what the meter counts for each function's frame, 0 for none
}

// prepare verifies and meters a module. check holds what the module declares against its plugin, before anything is
// metered; nil asks nothing. The error is check's or a [*wasmbin.Refusal].
func prepare(wasm []byte, check func(*binary) *LoadError) (readyModule, error) {
	m, err := read(wasm)
	if err != nil {
		return readyModule{}, err
	}
	p := readyModule{declares: declared(m)}
	if check != nil {
		if le := check(p.declares); le != nil {
			return readyModule{}, le
		}
	}
	p.code, p.frames, err = metered(m)
	return p, err
}
