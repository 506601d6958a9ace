package effect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/b3abf3ee/portcullis/conformance/checkout"
	gate "github.com/b3abf3ee/portcullis/host/approval"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/policy/approval"
)

// The digests rest on RFC 8785: its published vectors must come out byte for byte.
func TestCanonicalFormMatchesThePublishedVectors(t *testing.T) {
	dir := checkout.Data(t, "jcs", "testdata")
	files, err := filepath.Glob(filepath.Join(dir, "input", "*.json"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d vectors, %v", len(files), err)
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, "output", filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		// Arguments are objects; a vector of another kind is wrapped in one.
		args, err := effect.ParseArguments([]byte(`{"v":` + string(in) + `}`))
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
			continue
		}
		if got := string(args.Bytes()); got != `{"v":`+string(want)+`}` {
			t.Errorf("%s:\n got %s\nwant %s", filepath.Base(file), got, want)
		}
	}
}

// What a strict JSON reader must refuse is refused, and what it must accept is accepted, but for duplicate names.
func TestArgumentsAgreeWithTheJSONSuite(t *testing.T) {
	dir := checkout.Data(t, "json-test-suite", "test_parsing")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 280 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		_, err = effect.ParseArguments([]byte(`{"v":` + string(in) + `}`))
		switch name[0] {
		case 'y':
			if wantRefused := strings.Contains(name, "duplicated_key"); (err != nil) != wantRefused {
				t.Errorf("%s: %v", name, err)
			}
		case 'n':
			if err == nil && !closesTheWrapper(in) {
				t.Errorf("%s was accepted", name)
			}
		}
	}
}

// closesTheWrapper reports a malformed text that becomes well-formed inside the object that the test puts around it.
func closesTheWrapper(in []byte) bool {
	return json.Valid([]byte(`{"v":` + string(in) + `}`))
}

func TestRefusalsOfArgumentsHaveStableCodes(t *testing.T) {
	deep := strings.Repeat(`{"a":`, effect.MaxArgumentDepth) + "1" + strings.Repeat("}", effect.MaxArgumentDepth)
	if _, err := effect.ParseArguments([]byte(deep)); err != nil {
		t.Errorf("the deepest allowed: %v", err)
	}
	for text, code := range map[string]string{
		`{"a":` + deep + `}`:       "too_deep",
		``:                         "not_json",
		`null`:                     "not_an_object",
		`{"a":1e400}`:              "number_not_exact",
		`{"a":-9007199254740992}`:  "number_not_exact",
		`{"a":"\ud800"}`:           "not_json",
		strings.Repeat(" ", 2<<20): "too_large",
	} {
		var bad *effect.ArgumentError
		if _, err := effect.ParseArguments([]byte(text)); !errors.As(err, &bad) || bad.Code != code {
			t.Errorf("%.30q: %v, want %s", text, err, code)
		}
	}
}

// Accepted arguments are canonical: canonicalising again changes nothing, and an independent implementation agrees.
func FuzzParseArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `{"b":1,"a":2}`, `{"a": 1}`, `{"a":"\/"}`, `{"a":1.50}`, `{"é":1,"a":2}`, `{"a":0.0000001}`, `{"a":-0}`, `{"a":{"c":0,"b":0.25}}`, `{"b":1,"a":[1.0,2e3,"é\u00e9"]}`, `{"a":{"a":null}}`, `{"a":1,"a":2}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, err := effect.ParseArguments(raw)
		if err != nil {
			return
		}
		again, err := effect.ParseArguments(args.Bytes())
		if err != nil || !bytes.Equal(again.Bytes(), args.Bytes()) || again.Digest() != args.Digest() {
			t.Fatalf("not stable: %s -> %s (%v)", args.Bytes(), again.Bytes(), err)
		}
		other, err := jcs.Transform(raw)
		if err == nil && !bytes.Equal(other, args.Bytes()) {
			t.Fatalf("%s\n ours %s\n jcs  %s", raw, args.Bytes(), other)
		}
	})
}

// Two texts of one document are one call: what is approved, and what runs, is its canonical form and not the text.
func TestAnApprovalIsOfTheCanonicalArguments(t *testing.T) {
	f := newFixture(t, "tool.call:*")
	f.answer = gate.Decision{Allowed: true}
	var ran []string
	asked := tool("a.b", adapter(func(_ context.Context, c effect.Call) effect.Outcome {
		ran = append(ran, string(c.Arguments))
		return effect.Outcome{Status: effect.Succeeded, Result: json.RawMessage(`{}`)}
	}))
	asked.Approval = approval.Prompt
	for _, text := range []string{`{"key":"xy","n":1}`, " { \"n\" : 1.0 , \"key\" : \"\\u0078y\" } ", `{"n":1e0,"key":"x\u0079"}`} {
		f.want(f.run(text, asked), effect.Succeeded, true, "")
	}
	for i, q := range f.asked {
		if q.Digest != f.asked[0].Digest || q.Arguments != f.asked[0].Arguments || ran[i] != `{"key":"xy","n":1}` {
			t.Errorf("%d: asked about %s (%.8s), ran %s", i, q.Arguments, q.Digest, ran[i])
		}
	}
	f.run(`{"key":"xy","n":2}`, asked)
	if last := f.asked[len(f.asked)-1]; last.Digest == f.asked[0].Digest {
		t.Error("another document has the same digest")
	}
}

// A number that is refused is told whole or by its length: a part of a secret of digits could not be hidden any more.
func TestANumberIsNotToldInPart(t *testing.T) {
	const secret = "839205718264"
	for before := range 60 {
		_, err := effect.ParseArguments([]byte(`{"n":` + strings.Repeat("1", before+20) + secret + "}"))
		if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), secret, ""), secret[:3]) {
			t.Fatal(err)
		}
	}
}
