package net

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

var (
	errTooLarge = errors.New("net: more bytes than allowed")
	errEncoding = errors.New("net: not gzip")
)

// capped fails once more than left bytes were read, where an io.LimitReader would end as if that were all.
type capped struct {
	from io.Reader
	left int64
}

// Read is io.Reader's.
func (c *capped) Read(b []byte) (int, error) {
	if c.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(b)) > c.left+1 {
		b = b[:c.left+1]
	}
	n, err := c.from.Read(b)
	if c.left -= int64(n); c.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// readBody reads at most x.max bytes, and when the body is compressed at most x.max of both forms: a small answer
// that unpacks into a large one is cut off where the large one would be.
func readBody(x exchange, resp *http.Response) (body []byte, unzipped bool, err error) {
	if resp.ContentLength > x.max && x.method != http.MethodHead {
		return nil, false, errTooLarge
	}
	raw := &capped{resp.Body, x.max}
	codings := resp.Header.Values("Content-Encoding")
	if !x.unzip || x.method == http.MethodHead || len(codings) != 1 || !strings.EqualFold(codings[0], "gzip") { // of two codings one would be left
		body, err = io.ReadAll(raw)
		return body, false, err
	}
	unzip, err := gzip.NewReader(raw)
	switch {
	case errors.Is(err, io.EOF): // no body at all, as with 204 and 304
		return nil, false, nil
	case err != nil:
		return nil, false, encoding(err)
	}
	body, err = io.ReadAll(&capped{unzip, x.max})
	return body, true, encoding(err)
}

// encoding tells a body that is not gzip from a connection that failed.
func encoding(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		return fmt.Errorf("%w: %w", errEncoding, err)
	}
	return err
}

// discard lets go of an answer that nobody reads. A little of it is read, so that the connection can be used again.
func discard(resp *http.Response) {
	io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
}
