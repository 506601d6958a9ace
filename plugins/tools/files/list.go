package main

import (
	"context"
	"io/fs"

	"github.com/b3abf3ee/portcullis/sdk"
)

const maxEntries = 1000

// ListIn is a directory and what to show of it.
type ListIn struct {
	Path       string `json:"path,omitempty" desc:"Directory, from the workspace; left out, the workspace itself." maxLength:"1024"`
	Depth      int    `json:"depth,omitempty" desc:"1 is the directory alone, 2 also its directories, and so on." default:"1" minimum:"1" maximum:"32"`
	Glob       string `json:"glob,omitempty" desc:"Only what matches, such as *.go for names or src/**/*.ts for paths below path. Give a depth with it." maxLength:"256"`
	MaxEntries int    `json:"max_entries,omitempty" default:"200" minimum:"1" maximum:"1000"`
}

// ListOut is the entries, a directory before what is in it.
type ListOut struct {
	Path      string  `json:"path"`
	Truncated bool    `json:"truncated,omitempty" desc:"True when there is more than max_entries."`
	Entries   []Entry `json:"entries"`
}

// Entry is one file or directory.
type Entry struct {
	Path string `json:"path" desc:"From the workspace."`
	Kind string `json:"kind" enum:"file|dir|other" desc:"other is a symlink, device or socket; it is never followed."`
	Size *int64 `json:"size,omitempty" desc:"Bytes of a file."`
}

// List shows a directory.
func List(ctx context.Context, in ListIn, h sdk.Host) (ListOut, error) {
	dir, err := clean(in.Path)
	if err != nil {
		return ListOut{}, err
	}
	pattern, err := newGlob(in.Glob)
	if err != nil {
		return ListOut{}, err
	}
	limit := max(1, min(in.MaxEntries, maxEntries))
	out := ListOut{Path: dir}
	out.Truncated, err = walk(ctx, h.Files(), dir, max(1, in.Depth), func(name string, e fs.DirEntry) error {
		if !pattern.match(relative(dir, name)) {
			return nil
		}
		if len(out.Entries) == limit {
			return errEnough
		}
		entry, err := describe(name, e)
		out.Entries = append(out.Entries, entry)
		return err
	})
	return out, err
}

func describe(name string, e fs.DirEntry) (Entry, error) {
	switch {
	case e.IsDir():
		return Entry{Path: name, Kind: "dir"}, nil
	case !e.Type().IsRegular():
		return Entry{Path: name, Kind: "other"}, nil
	}
	info, err := e.Info()
	if err != nil {
		return Entry{}, err
	}
	size := info.Size()
	return Entry{Path: name, Kind: "file", Size: &size}, nil
}
