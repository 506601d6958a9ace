package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// SecretRef says where a secret is, never what it is. The zero SecretRef is none.
type SecretRef struct {
	Source string // "env" or "file"
	Name   string // of the variable, or the path (a relative one is below the home)
}

// Sources of [SecretRef].
const (
	FromEnv  = "env"
	FromFile = "file"
)

// maxSecretFile bounds a file that holds one secret.
const maxSecretFile = 16 << 10

// Zero reports whether there is no reference.
func (s SecretRef) Zero() bool { return s == SecretRef{} }

// String is the reference as it is written, "env:NAME" or "file:PATH".
func (s SecretRef) String() string {
	if s.Zero() {
		return ""
	}
	return s.Source + ":" + s.Name
}

// secret reads a reference. What stands there instead may be the secret itself, so that no message repeats it.
func (r *reading) secret(v value) SecretRef {
	text := ""
	if n, ok := v.node.(*ast.StringNode); ok {
		text = n.Value
	}
	source, name, _ := strings.Cut(text, ":")
	switch {
	case source == FromEnv && envName(name), source == FromFile && name != "" && len(name) <= maxPathLength && !strings.ContainsFunc(name, control):
		return SecretRef{source, name}
	case source == FromEnv:
		r.fault(r.begin(v.node), "%s: after env: comes the name of a variable, as in env:ANTHROPIC_API_KEY", v.name)
	default:
		r.fault(r.begin(v.node), "%s must say where the key is and not what it is: write env:NAME or file:PATH", v.name)
	}
	return SecretRef{}
}

func envName(s string) bool {
	return s != "" && len(s) <= 128 && (s[0] < '0' || s[0] > '9') &&
		strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// SecretError says why a secret is not there. It never holds a value.
type SecretError struct {
	Ref  SecretRef
	Want string
}

// Error names the reference and what to do.
func (e *SecretError) Error() string { return e.Ref.String() + " " + e.Want }

// Read returns the secret, asked anew each time so that a changed key is picked up. lookup is os.LookupEnv, or a
// stand-in; home is where relative paths begin. A file must be plain, at most 16 KiB, and readable by its owner
// alone; line ends after the secret are cut off. A [*SecretError] says what to do about it.
func (s SecretRef) Read(ctx context.Context, home string, lookup func(string) (string, bool)) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("core: read %s: %w", s, err)
	}
	var text string
	switch s.Source {
	case FromEnv:
		text, _ = lookup(s.Name)
		if text == "" {
			return "", &SecretError{s, "is not set; set it in the environment that portcullis starts in"}
		}
	case FromFile:
		path := s.Name
		if !filepath.IsAbs(path) {
			path = filepath.Join(home, path)
		}
		var err error
		if text, err = s.readFile(path); err != nil {
			return "", err
		}
	default:
		return "", &SecretError{s, "is no reference; write env:NAME or file:PATH"}
	}
	text = strings.TrimRight(text, "\r\n")
	if text == "" || strings.ContainsFunc(text, control) || strings.ContainsAny(text, "\n\t") {
		return "", &SecretError{s, "is empty or has line breaks or control characters in it"}
	}
	return text, nil
}

func (s SecretRef) readFile(path string) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return "", &SecretError{s, "does not exist"}
	}
	if err != nil {
		return "", fmt.Errorf("core: open the folder of %s: %w", s, err)
	}
	defer root.Close()
	if info, err := root.Lstat(filepath.Base(path)); err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", &SecretError{s, fmt.Sprintf("can be read by other users; run: chmod 600 %s", path)}
	}
	data, err := readPlain(root, filepath.Base(path), maxSecretFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", &SecretError{s, "does not exist"}
	case errors.Is(err, errNotPlain), errors.Is(err, errTooLarge):
		return "", &SecretError{s, err.Error()}
	case err != nil:
		return "", fmt.Errorf("core: read %s: %w", s, err)
	}
	return string(data), nil
}
