package main

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/b3abf3ee/portcullis/sdk"
)

// Bounds of one walk.
const (
	maxWalked = 20_000 // entries looked at
	maxDepth  = 32
)

// errEnough ends a walk without being an error of it.
var errEnough = errors.New("enough")

// walk visits what is below dir in the order of names, a directory before what
// is in it, down to depth. Directories that are skipped are visited and not
// entered; neither is anything that is not a directory, so no symlink is
// followed. It reports whether it left out something that was asked for: visit
// returned errEnough, or one of the bounds above was reached.
func walk(ctx context.Context, files sdk.Files, dir string, depth int, visit func(name string, e fs.DirEntry) error) (stopped bool, err error) {
	w := walker{files: files, visit: visit, left: maxWalked}
	err = w.dir(ctx, dir, min(depth, maxDepth))
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return w.deeper && depth > maxDepth, err
}

type walker struct {
	files  sdk.Files
	visit  func(name string, e fs.DirEntry) error
	left   int
	deeper bool // there was more below the depth
}

func (w *walker) dir(ctx context.Context, dir string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := w.files.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if w.left--; w.left < 0 {
			return errEnough
		}
		name := path.Join(dir, e.Name())
		if err := w.visit(name, e); err != nil {
			return err
		}
		if !e.IsDir() || skipped(e.Name()) {
			continue
		}
		if depth <= 1 {
			w.deeper = true
			continue
		}
		if err := w.below(ctx, name, depth-1); err != nil {
			return err
		}
	}
	return nil
}

// below is dir for a directory found on the way: one that went away meanwhile,
// or that the host does not let us see, is not the fault of the whole.
func (w *walker) below(ctx context.Context, dir string, depth int) error {
	err := w.dir(ctx, dir, depth)
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Path == dir && (errors.Is(err, sdk.NotFound) || errors.Is(err, sdk.Denied)) {
		return nil
	}
	return err
}

// relative is name as seen from dir, which is above it.
func relative(dir, name string) string {
	if dir == "." {
		return name
	}
	return name[len(dir)+1:]
}
