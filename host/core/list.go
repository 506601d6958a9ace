package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Listing is one folder or file below cores/. Exactly one of Core and Err says something.
type Listing struct {
	ID   string
	Core Core
	Err  error // a [LoadErrors]
}

// List loads everything below cores/ of the home, in alphabetical order. A core with faults is listed with them;
// nothing is left out but editors' leftovers. An error means that the folder could not be read, or that ctx ended. A
// home without the folder has no cores.
func List(ctx context.Context, home string) ([]Listing, error) {
	found, err := os.ReadDir(filepath.Join(home, FolderName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("core: list %s: %w", FolderName, err)
	}
	var out []Listing
	for _, e := range found {
		name := e.Name()
		if leftover(name) {
			continue
		}
		if !ValidID(name) {
			out = append(out, Listing{ID: name, Err: refuse(path.Join(FolderName, name), "no core has such a name; move it away")})
			continue
		}
		c, err := Load(ctx, home, name)
		if err != nil && Faults(err) == nil {
			return nil, err
		}
		out = append(out, Listing{name, c, err})
	}
	return out, nil
}
