package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// partBytes is how much of a file is hashed in one piece.
const partBytes = 1 << 20

// digestParts is the SHA-256, in hexadecimal, of the SHA-256s of the parts of size bytes. Machine code is hashed before
// each first call, and a hash of parts is made by all cores. The bytes are left in keep, which is nil or has that size.
func digestParts(r io.ReaderAt, size int64, keep []byte) (string, error) {
	parts := int((size + partBytes - 1) / partBytes)
	sums := make([]byte, parts*sha256.Size)
	errs := make([]error, min(parts, runtime.GOMAXPROCS(0)))
	var next atomic.Int64
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() {
			var own []byte
			if keep == nil {
				own = make([]byte, partBytes)
			}
			for errs[i] == nil {
				part := next.Add(1) - 1
				if part >= int64(parts) {
					return
				}
				at, n := part*partBytes, min(partBytes, size-part*partBytes)
				data := own
				if keep != nil {
					data = keep[at:]
				}
				if got, err := r.ReadAt(data[:n], at); int64(got) < n {
					errs[i] = err
				}
				sum := sha256.Sum256(data[:n])
				copy(sums[part*sha256.Size:], sum[:])
			}
		})
	}
	workers.Wait()
	sum := sha256.Sum256(sums)
	return hex.EncodeToString(sum[:]), errors.Join(errs...)
}
