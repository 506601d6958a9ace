package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// litterAge is when a folder without a record is a killed process's, and not
	// one that another is still writing: far past any compile deadline.
	litterAge = time.Hour
	// leftoverAge is when what other versions of this program wrote, and have not
	// used since, is removed.
	leftoverAge = 7 * 24 * time.Hour
)

// kept is one thing that the sweep removes or leaves: an entry, or something of
// another version.
type kept struct {
	paths []string // the first is removed first: without its record an entry is litter
	used  time.Time
	bytes int64
	other bool // of another version
}

// sweep holds the cache to its size: litter and other versions' leftovers go
// first, then what was used longest ago. The entry keep stays. Other processes
// may use what is removed: they hold their code in memory, and make anew what
// they do not find. It is asked after an entry was written, and errors cost disk.
func (c *codeCache) sweep(keep string, now time.Time) {
	all := c.own(now)
	versions, _ := filepath.Glob(filepath.Join(c.root, "wazero-v*", "*"))
	for _, path := range versions {
		if path == c.dir {
			continue
		}
		// Entries of older layouts are files; those of others' are folders with many: each thing below counts.
		things, _ := filepath.Glob(filepath.Join(path, "*"))
		for _, p := range things {
			if k, ok := measure(p); ok {
				k.other = true
				all = append(all, k)
			}
		}
		if len(things) == 0 {
			_ = os.Remove(path) // an empty folder; anything else stays
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	total := int64(0)
	for _, k := range all {
		total += k.bytes
	}
	for _, k := range all {
		stale := k.other && now.Sub(k.used) > leftoverAge
		if !stale && total <= c.max || filepath.Base(k.paths[0]) == keep {
			continue
		}
		for _, p := range k.paths {
			_ = os.RemoveAll(p)
		}
		total -= k.bytes
	}
}

// own lists the entries of this version, and removes litter.
func (c *codeCache) own(now time.Time) (entries []kept) {
	names, _ := os.ReadDir(c.dir)
	for _, n := range names {
		name, path := n.Name(), filepath.Join(c.dir, n.Name())
		if !n.IsDir() && !strings.Contains(name, ".") {
			r, ok := c.read(name)
			k, there := measure(path)
			if !ok || !there {
				_ = os.Remove(path)
				continue
			}
			k.paths = append(k.paths, filepath.Join(c.dir, r.folder))
			k.bytes += r.wasm.Bytes + r.code.Bytes
			entries = append(entries, k)
			continue
		}
		module, _, _ := strings.Cut(name, ".")
		if r, ok := c.read(module); ok && r.folder == name {
			continue
		}
		if info, err := n.Info(); err == nil && now.Sub(info.ModTime()) > litterAge {
			_ = os.RemoveAll(path)
		}
	}
	return entries
}

// measure adds up what lies at path.
func measure(path string) (kept, bool) {
	k := kept{paths: []string{path}}
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			k.bytes += info.Size()
		}
		if info.ModTime().After(k.used) {
			k.used = info.ModTime()
		}
		return nil
	})
	return k, err == nil
}
