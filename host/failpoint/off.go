//go:build !failpoint

package failpoint

// Hit does nothing in this build.
func Hit(string) error { return nil }

// Caller is empty in this build.
func Caller(string) string { return "" }
