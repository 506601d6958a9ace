//go:build !linux

package process

import "io/fs"

func seen(path string, info fs.FileInfo) Seen {
	return Seen{Path: path, Size: info.Size(), Modified: info.ModTime().UnixNano()}
}

func owner(fs.FileInfo) (int, bool) { return 0, false }
