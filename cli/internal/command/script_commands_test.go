package command

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs a program and wants exactly this exit code: exits 2 portcullis plugin new
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// jsonAt compares one member of the last standard output, which must be exactly one JSON document:
// json error.code unknown_tool; a number in the path is an index; "*" as the value wants any that is not empty.
func jsonAt(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json PATH VALUE")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("standard output is not JSON: %v", err)
	}
	if dec.More() {
		ts.Fatalf("standard output holds more than one document")
	}
	got, err := member(doc, strings.Split(args[0], "."))
	if err != nil {
		if neg {
			return
		}
		ts.Fatalf("%s: %v", args[0], err)
	}
	text := fmt.Sprint(got)
	if _, plain := got.(string); !plain {
		raw, err := json.Marshal(got)
		ts.Check(err)
		text = string(raw)
	}
	same := text == args[1] || args[1] == "*" && text != "" && text != "null"
	if same == neg {
		ts.Fatalf("%s is %s, want (not: %v) %s", args[0], text, neg, args[1])
	}
}

func member(doc any, path []string) (any, error) {
	for _, name := range path {
		switch at := doc.(type) {
		case map[string]any:
			next, ok := at[name]
			if !ok {
				return nil, fmt.Errorf("no member %q", name)
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(at) {
				return nil, fmt.Errorf("no element %q of %d", name, len(at))
			}
			doc = at[i]
		default:
			return nil, fmt.Errorf("%q is below %v", name, doc)
		}
	}
	return doc, nil
}

// keep puts one member of the last standard output into a variable: keep TURN turn_id
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep VARIABLE PATH")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc); err != nil {
		ts.Fatalf("standard output is not JSON: %v", err)
	}
	got, err := member(doc, strings.Split(args[1], "."))
	ts.Check(err)
	ts.Setenv(args[0], fmt.Sprint(got))
}

// snapshot writes names, modes, sizes, times and digests of everything below a folder into a file:
// snapshot FOLDER FILE
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: snapshot FOLDER FILE")
	}
	var b strings.Builder
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var sum [sha256.Size]byte
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(data)
		}
		name, err := filepath.Rel(root, path)
		fmt.Fprintf(&b, "%s %v %d %s %x\n", name, info.Mode(), info.Size(), info.ModTime().Format(time.RFC3339Nano), sum)
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}

// replace changes every occurrence of a text in a file, which must have one: replace FILE OLD NEW
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	data := ts.ReadFile(args[0])
	if !strings.Contains(data, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(data, args[1], args[2])), 0o600))
}
