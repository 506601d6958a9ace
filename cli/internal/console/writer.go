package console

import "io"

// escaping is a writer that shows text of any origin as [Prose] leaves it.
type escaping struct{ w io.Writer }

// Escaping wraps w for a library that writes whole lines itself, such as a logger.
func Escaping(w io.Writer) io.Writer { return escaping{w} }

// Write reports the whole of p as written, or nothing of it.
func (e escaping) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.w, Prose(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
