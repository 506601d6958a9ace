package wire

import (
	"errors"
	"strconv"
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
	n := uint32(len(header))
	frame = append(frame, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	frame = append(frame, header...)
	return append(frame, body...), nil
}

// SplitFrame finds header and body in a frame. Both share the frame's memory.
// It applies the bounds of [EncodeFrame] and looks at no byte past the frame.
func SplitFrame(frame []byte) (header, body []byte, err error) {
	if len(frame) < framePrefix {
		return nil, nil, errors.New("wire: frame of " + strconv.Itoa(len(frame)) + " bytes has no header length")
	}
	rest := frame[framePrefix:]
	n := uint32(frame[0]) | uint32(frame[1])<<8 | uint32(frame[2])<<16 | uint32(frame[3])<<24
	if uint64(n) > uint64(len(rest)) {
		return nil, nil, errors.New("wire: frame says its header has " + strconv.Itoa(int(n)) + " bytes, only " + strconv.Itoa(len(rest)) + " follow")
	}
	if err := checkFrame(int(n), len(rest)-int(n)); err != nil {
		return nil, nil, err
	}
	return rest[:n:n], rest[n:], nil
}

func checkFrame(header, body int) error {
	switch {
	case header == 0:
		return errors.New("wire: frame has an empty header")
	case header > MaxHeaderBytes:
		return tooLong("header", header, MaxHeaderBytes)
	case body > MaxBodyBytes:
		return tooLong("body", body, MaxBodyBytes)
	}
	return nil
}

func tooLong(part string, have, most int) error {
	return errors.New("wire: frame " + part + " has " + strconv.Itoa(have) + " bytes, at most " + strconv.Itoa(most) + " are allowed")
}
