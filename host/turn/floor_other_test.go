//go:build !linux

package turn_test

import "os"

func flushData(f *os.File) error { return f.Sync() }
