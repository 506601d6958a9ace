//go:build !linux

package sqlite

import "os"

// flushData puts a file's data on disk.
func flushData(f *os.File) error { return f.Sync() }
