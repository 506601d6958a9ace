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

// bufferBytes is how much of a part is read at once.
const bufferBytes = 256 << 10

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
			h, buf := sha256.New(), make([]byte, min(size, bufferBytes))
			for errs[i] == nil {
				part := next.Add(1) - 1
				if part >= int64(parts) {
					return
				}
				h.Reset()
				for at, end := part*partBytes, min((part+1)*partBytes, size); at < end && errs[i] == nil; {
					data := buf[:min(bufferBytes, end-at)]
					if keep != nil {
						data = keep[at : at+int64(len(data))]
					}
					n, err := r.ReadAt(data, at)
					if n < len(data) {
						errs[i] = err
					}
					h.Write(data)
					at += int64(n)
				}
				h.Sum(sums[part*sha256.Size : part*sha256.Size : (part+1)*sha256.Size])
			}
		})
	}
	workers.Wait()
	sum := sha256.Sum256(sums)
	return hex.EncodeToString(sum[:]), errors.Join(errs...)
}
