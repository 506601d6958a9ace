package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

func TestFrameLayoutIsLengthHeaderBody(t *testing.T) {
	frame, err := wire.EncodeFrame([]byte(`{"a":1}`), []byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x07\x00\x00\x00" + `{"a":1}body`; string(frame) != want {
		t.Fatalf("frame is %q, want %q", frame, want)
	}
}

func TestFrameBoundsAreRefusedOnBothSides(t *testing.T) {
	header, body := make([]byte, wire.MaxHeaderBytes), make([]byte, wire.MaxBodyBytes)
	frame, err := wire.EncodeFrame(header, body)
	if err != nil {
		t.Fatalf("a frame at both bounds: %v", err)
	}
	if h, b, err := wire.SplitFrame(frame); err != nil || len(h) != len(header) || len(b) != len(body) {
		t.Fatalf("split at both bounds: %d, %d, %v", len(h), len(b), err)
	}
	if _, _, err := wire.SplitFrame(append(frame, 0)); err == nil {
		t.Error("a body one byte too long was split")
	}
	for name, in := range map[string][2]int{
		"empty header":       {0, 1},
		"header one too big": {wire.MaxHeaderBytes + 1, 0},
		"body one too big":   {1, wire.MaxBodyBytes + 1},
	} {
		if _, err := wire.EncodeFrame(make([]byte, in[0]), make([]byte, in[1])); err == nil {
			t.Errorf("%s was encoded", name)
		}
	}
	for name, in := range map[string]string{
		"nothing":                 "",
		"half a length":           "\x01\x00",
		"no header":               "\x00\x00\x00\x00body",
		"header beyond the frame": "\x05\x00\x00\x00{}",
		"length of 4 GiB":         "\xff\xff\xff\xff{}",
		"header over the bound":   "\x01\x00\x01\x00" + strings.Repeat("x", wire.MaxHeaderBytes+1),
	} {
		if _, _, err := wire.SplitFrame([]byte(in)); err == nil {
			t.Errorf("%s was split", name)
		}
	}
}

// A header that grows must not run into the body it shares memory with.
func TestSplitHeaderCannotGrowIntoTheBody(t *testing.T) {
	header, body, err := wire.SplitFrame([]byte("\x02\x00\x00\x00{}body"))
	if err != nil {
		t.Fatal(err)
	}
	_ = append(header, "XXXX"...)
	if string(body) != "body" {
		t.Fatalf("body became %q", body)
	}
}

// Whatever is split encodes to the same bytes, and what is refused is not a
// frame that EncodeFrame could have made.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00{}body"))
	f.Add([]byte("\xff\xff\xff\x7f{}"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, in []byte) {
		header, body, err := wire.SplitFrame(in)
		if err == nil {
			again, err := wire.EncodeFrame(header, body)
			if err != nil || !bytes.Equal(again, in) {
				t.Fatalf("%q was split and encodes to %q, %v", in, again, err)
			}
		}
		frame, err := wire.EncodeFrame(in, in)
		if err != nil {
			return
		}
		if h, b, err := wire.SplitFrame(frame); err != nil || !bytes.Equal(h, in) || !bytes.Equal(b, in) {
			t.Fatalf("%q does not come back: %q, %q, %v", in, h, b, err)
		}
	})
}
