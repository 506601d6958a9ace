package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/b3abf3ee/portcullis/sdk"
)

const maxWrite = 2 << 20 // bytes of one file written whole

// WriteIn is a file and its content.
type WriteIn struct {
	Path      string `json:"path" desc:"Path from the workspace; directories above are made." minLength:"1" maxLength:"1024"`
	Content   string `json:"content" desc:"The whole file." maxLength:"2097152"`
	Overwrite bool   `json:"overwrite,omitempty" desc:"Replace a file that is there. Without it the call is refused then."`
}

// WriteOut is what is in the file now.
type WriteOut struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"`
	SHA256  string `json:"sha256"`
	Created bool   `json:"created" desc:"False when a file was replaced."`
}

// Write writes a file whole. It tries to create first also when it may replace,
// so that what it says about the old file is what happened.
func Write(_ context.Context, in WriteIn, h sdk.Host) (WriteOut, error) {
	name, err := cleanFile(in.Path)
	if err != nil {
		return WriteOut{}, err
	}
	if len(in.Content) > maxWrite {
		return WriteOut{}, sdk.Errorf(sdk.TooLarge, "content has %d bytes, at most %d are allowed", len(in.Content), maxWrite)
	}
	if err := makeParents(h.Files(), name); err != nil {
		return WriteOut{}, err
	}
	content := []byte(in.Content)
	out := WriteOut{Path: name, Bytes: len(content), SHA256: digest(content), Created: true}
	err = h.Files().WriteFile(name, content, sdk.Create)
	if !errors.Is(err, sdk.Exists) {
		return out, err
	}
	if !in.Overwrite {
		return WriteOut{}, sdk.Errorf(sdk.Exists, "%s is there already; set overwrite to replace it, or use files.edit to change a part", name)
	}
	out.Created = false
	return out, h.Files().WriteFile(name, content, sdk.Replace)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
