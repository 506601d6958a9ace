package core

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of one core's tree.
const (
	MaxFiles     = 128
	MaxFileBytes = 1 << 20
	MaxTreeBytes = 8 << 20
	maxTreeDepth = 6 // folders, agent/ included
)

// readmeFile is the one file beside the manifest that is for people only. It is part of the revision.
const readmeFile = "README.md"

var (
	errNotPlain = errors.New("is not a plain file (links are not followed)")
	errTooLarge = errors.New("is too large")
)

// tree is one core's files as they were read, by path with slashes.
type tree map[string][]byte

// readTree reads the whole core below root. at is the core's folder for messages. Faults are a [LoadErrors].
func readTree(ctx context.Context, root *os.Root, at string) (tree, error) {
	w := &walk{root: root, at: at, files: tree{}}
	if err := w.folder(ctx, ".", 0); err != nil {
		return nil, err
	}
	if len(w.faults) > 0 {
		return nil, w.faults
	}
	return w.files, nil
}

type walk struct {
	root   *os.Root
	at     string
	files  tree
	total  int
	faults LoadErrors
}

func (w *walk) fault(name, format string, args ...any) {
	if len(w.faults) < 20 {
		w.faults = append(w.faults, &LoadError{Path: path.Join(w.at, name), Sentence: fmt.Sprintf(format, args...)})
	}
}

// folder reads one folder in alphabetical order. It returns only errors that are not the tree's.
func (w *walk) folder(ctx context.Context, dir string, depth int) error {
	found, err := fs.ReadDir(w.root.FS(), dir)
	if err != nil {
		return fmt.Errorf("core: list %s: %w", path.Join(w.at, dir), err)
	}
	for _, e := range found {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("core: read %s: %w", w.at, err)
		}
		name := path.Join(dir, e.Name())
		switch {
		case leftover(e.Name()):
		case e.IsDir() && depth >= maxTreeDepth:
			w.fault(name, "is nested more than %d folders deep", maxTreeDepth)
		case e.IsDir() && (dir != "." || e.Name() == SurfaceFolder):
			if err := w.folder(ctx, name, depth+1); err != nil {
				return err
			}
		default:
			if err := w.file(name); err != nil || len(w.files) > MaxFiles || w.total > MaxTreeBytes {
				return err
			}
		}
	}
	return nil
}

func (w *walk) file(name string) error {
	if want := checkTreeName(name); want != "" {
		w.fault(name, "%s", want)
		return nil
	}
	data, err := readPlain(w.root, filepath.FromSlash(name), MaxFileBytes)
	switch {
	case errors.Is(err, errNotPlain):
		w.fault(name, "%v; put the file itself there", err)
		return nil
	case errors.Is(err, errTooLarge):
		w.fault(name, "has more than %d bytes", MaxFileBytes)
		return nil
	case err != nil:
		return fmt.Errorf("core: read %s: %w", path.Join(w.at, name), err)
	}
	w.files[name], w.total = data, w.total+len(data)
	switch {
	case len(w.files) > MaxFiles:
		w.fault("", "has more than %d files", MaxFiles)
	case w.total > MaxTreeBytes:
		w.fault("", "has more than %d bytes in all", MaxTreeBytes)
	}
	return nil
}

// leftover reports names that editors and systems leave behind. They are not read and not part of the revision, and
// nothing can refer to them.
func leftover(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".bak") || strings.HasSuffix(name, ".orig")
}

// checkTreeName says what is wrong with the name of a file in a core, or "".
func checkTreeName(name string) string {
	if name == AgentFile || name == readmeFile {
		return ""
	}
	below, ok := strings.CutPrefix(name, SurfaceFolder+"/")
	if !ok {
		return fmt.Sprintf("does not belong there; a core has %s, %s, and everything else below %s/", AgentFile, readmeFile, SurfaceFolder)
	}
	for part := range strings.SplitSeq(below, "/") {
		if part == "" || leftover(part) || len(part) > 100 ||
			strings.Trim(part, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
			return "has a name with something else in it than letters, digits, dots, dashes and underscores; rename it"
		}
	}
	if !slices.Contains([]string{".md", ".txt", ".json", ".jsonl", ".yaml"}, path.Ext(below)) {
		return "is of no kind that a core has; these are .md .txt .json .jsonl .yaml"
	}
	return ""
}

// revision is the content digest of the tree: "sha256:" and the hex SHA-256 of
//
//	"portcullis core tree 1\n"
//	then for each file, by path in byte order:
//	  the path below the core with slashes, "\n", the size in decimal digits, "\n", the bytes, "\n"
//
// Nothing else has a part in it: no times, modes, owners, folders, nor the file system's own order.
func (t tree) revision() string {
	h := sha256.New()
	io.WriteString(h, "portcullis core tree 1\n")
	for _, name := range t.names() {
		fmt.Fprintf(h, "%s\n%d\n", name, len(t[name]))
		h.Write(t[name])
		io.WriteString(h, "\n")
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func (t tree) names() []string {
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// readPlain reads a regular file below root whole, at most limit bytes of it. A link, or a file that is swapped for
// another between the look and the reading, is errNotPlain.
func readPlain(root *os.Root, name string, limit int64) ([]byte, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errNotPlain
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	after, err := f.Stat()
	if err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(err, errNotPlain)
	}
	var buf bytes.Buffer
	n, err := buf.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && n > limit {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
