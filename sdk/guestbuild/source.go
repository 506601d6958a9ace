package guestbuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// buildFlags is what every guest is built with; a change makes every stamp old, as a change of [trim] must: the digest
// below begins with a number for that.
var buildFlags = []string{"-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}

// listed is the part of `go list -json` that says which files make a package.
type listed struct {
	Dir        string
	ImportPath string
	Name       string
	Standard   bool
	Module     *struct {
		Main    bool
		Version string
		Replace *struct{ Version string }
	}
	GoFiles, SFiles, HFiles, EmbedFiles []string
}

// local reports a package whose files can change without go.mod and go.sum
// changing: one of the main module, or of a module replaced by a folder, or
// vendored (which -json tells by a Module without a Dir of its own, and which
// is read as well, since nothing checks a vendor folder's bytes).
func (p listed) local(vendored bool) bool {
	switch {
	case p.Standard:
		return false
	case p.Module == nil || p.Module.Main || vendored:
		return true
	case p.Module.Replace != nil:
		return p.Module.Replace.Version == ""
	}
	return false
}

// sourceDigest names the inputs of the build: toolchain, flags, module files
// and the content of every local source file.
func (b *build) sourceDigest(ctx context.Context) (string, error) {
	out, err := b.run(ctx, "list", "-deps", "-json=Dir,ImportPath,Name,Standard,Module,GoFiles,SFiles,HFiles,EmbedFiles", ".")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "portcullis guest 5\n%t\n%s\n%s\n%s\n%q\n", b.o.Shorten != nil, b.mod.GOVERSION, b.mod.GOEXPERIMENT, b.mod.GOWASM, buildFlags)
	root := filepath.Dir(b.mod.GOMOD)
	for _, name := range []string{"go.mod", "go.sum", filepath.Join("vendor", "modules.txt")} {
		if err := hashFile(h, name, filepath.Join(root, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if b.mod.GOWORK != "" && b.mod.GOWORK != "off" {
		if err := hashFile(h, "go.work", b.mod.GOWORK); err != nil {
			return "", err
		}
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	var last listed
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", fmt.Errorf("guestbuild: go list: %w", err)
		}
		if last = p; p.local(b.mod.vendorFlag() != "") {
			if err := p.hash(h); err != nil {
				return "", err
			}
		}
	}
	// -deps lists a package after its dependencies, so the plugin comes last.
	if last.Name != "main" {
		return "", &CompileError{Dir: b.dir, Output: fmt.Sprintf("this is package %s; a plugin is package main", last.Name)}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (p listed) hash(h hash.Hash) error {
	names := slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.EmbedFiles)
	slices.Sort(names)
	for _, name := range names {
		if err := hashFile(h, p.ImportPath+"/"+name, filepath.Join(p.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// hashFile adds name, length and content, so that no two sets of files run
// together into the same stream.
func hashFile(h hash.Hash, name, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("guestbuild: %w", err)
	}
	fmt.Fprintf(h, "%q %d\n", name, len(content))
	h.Write(content)
	return nil
}
