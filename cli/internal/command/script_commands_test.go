package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

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
