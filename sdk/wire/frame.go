package wire

import (
	"encoding/binary"
	"fmt"
)

// framePrefix is the length of the length.
const framePrefix = 4

// EncodeFrame lays out one frame: the header's length as four little-endian
// bytes, the header, the body to the end. It refuses a header of no bytes or
// more than [MaxHeaderBytes], and a body of more than [MaxBodyBytes].
func EncodeFrame(header, body []byte) ([]byte, error) {
	if err := checkFrame(len(header), len(body)); err != nil {
		return nil, err
	}
	frame := make([]byte, 0, framePrefix+len(header)+len(body))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(header)))
	frame = append(frame, header...)
	return append(frame, body...), nil
}

// SplitFrame finds header and body in a frame. Both share the frame's memory.
// It applies the bounds of [EncodeFrame] and looks at no byte past the frame.
func SplitFrame(frame []byte) (header, body []byte, err error) {
	if len(frame) < framePrefix {
		return nil, nil, fmt.Errorf("wire: frame of %d bytes has no header length", len(frame))
	}
	rest := frame[framePrefix:]
	n := binary.LittleEndian.Uint32(frame)
	if uint64(n) > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("wire: frame says its header has %d bytes, only %d follow", n, len(rest))
	}
	if err := checkFrame(int(n), len(rest)-int(n)); err != nil {
		return nil, nil, err
	}
	return rest[:n:n], rest[n:], nil
}

func checkFrame(header, body int) error {
	switch {
	case header == 0:
		return fmt.Errorf("wire: frame has an empty header")
	case header > MaxHeaderBytes:
		return fmt.Errorf("wire: frame header has %d bytes, at most %d are allowed", header, MaxHeaderBytes)
	case body > MaxBodyBytes:
		return fmt.Errorf("wire: frame body has %d bytes, at most %d are allowed", body, MaxBodyBytes)
	}
	return nil
}
