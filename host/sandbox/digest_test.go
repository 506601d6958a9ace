package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"
)

// TestPartsAreHashedInOrder holds the digest that all cores make against the same made one part after the other, at
// sizes around the border of a part.
func TestPartsAreHashedInOrder(t *testing.T) {
	data := make([]byte, 5*partBytes/2)
	for i := range data {
		data[i] = byte(i >> 16) // parts differ
	}
	for _, size := range []int{0, 1, partBytes - 1, partBytes, partBytes + 1, len(data)} {
		sums := sha256.New()
		for at := 0; at < size; at += partBytes {
			sum := sha256.Sum256(data[at:min(at+partBytes, size)])
			sums.Write(sum[:])
		}
		keep := make([]byte, size)
		for _, keep := range [][]byte{nil, keep} {
			got, err := digestParts(bytes.NewReader(data), int64(size), keep)
			if want := hex.EncodeToString(sums.Sum(nil)); err != nil || got != want {
				t.Errorf("%d bytes: %s, %v; want %s", size, got, err, want)
			}
		}
		if !bytes.Equal(keep, data[:size]) {
			t.Errorf("%d bytes: others were kept than were hashed", size)
		}
	}
}

// TestAFileThatEndsEarlyHasNoDigest reads more than there is: what was not read is no zeros.
func TestAFileThatEndsEarlyHasNoDigest(t *testing.T) {
	for _, there := range []int{0, 1, partBytes, 2*partBytes - 1} {
		if _, err := digestParts(bytes.NewReader(make([]byte, there)), 2*partBytes, nil); !errors.Is(err, io.EOF) {
			t.Errorf("%d of %d bytes: %v", there, 2*partBytes, err)
		}
	}
}
