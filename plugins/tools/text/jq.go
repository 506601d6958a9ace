package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/itchyny/gojq"

	"github.com/b3abf3ee/portcullis/sdk"
)

const (
	maxFilter  = 8 << 10 // bytes
	maxOutputs = 1000
	maxSteps   = 2_000_000 // instructions of gojq: a second or two of a guest
)

// JQIn is a filter and the JSON it runs over.
type JQIn struct {
	Filter     string          `json:"filter" desc:"A jq 1.7 filter, such as .items | map(.price) | add." minLength:"1" maxLength:"8192"`
	Value      json.RawMessage `json:"value,omitempty" desc:"The document as a JSON value. Give either this or text."`
	Text       string          `json:"text,omitempty" desc:"The document as JSON text, or several documents after each other; the filter runs over each." maxLength:"524288"`
	MaxOutputs int             `json:"max_outputs,omitempty" desc:"Stop after this many outputs." default:"100" minimum:"1" maximum:"1000"`
}

// JQOut is what the filter put out, each output a JSON value.
type JQOut struct {
	Truncated bool              `json:"truncated,omitempty" desc:"True when there was more than max_outputs or 256 KiB."`
	Outputs   []json.RawMessage `json:"outputs"`
}

// JQ runs a filter over each document and collects the outputs. A filter that
// jq itself would stop with an error is the fault invalid, with the error; one
// that uses up its steps is too_large. The outputs before either are lost: half
// an answer reads like a whole one.
func JQ(ctx context.Context, in JQIn, _ sdk.Host) (JQOut, error) {
	docs, err := in.documents()
	if err != nil {
		return JQOut{}, err
	}
	code, err := compile(in.Filter)
	if err != nil {
		return JQOut{}, err
	}
	limit := in.MaxOutputs
	if limit < 1 || limit > maxOutputs {
		limit = maxOutputs
	}
	run := jqRun{steps: newSteps(ctx, maxSteps), limit: limit}
	for _, doc := range docs {
		if err := run.over(code, doc); err != nil {
			return JQOut{}, err
		}
		if run.ended {
			break
		}
	}
	return run.out, nil
}

// documents decodes the input; numbers keep every digit as written.
func (in JQIn) documents() ([]any, error) {
	raw := []byte(in.Text)
	switch {
	case (in.Text == "") == (in.Value == nil):
		return nil, sdk.Errorf(sdk.Invalid, "give the document either as value or as text")
	case in.Value != nil:
		raw = in.Value
	}
	if err := fits("the document", string(raw)); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var docs []any
	for {
		var v any
		switch err := dec.Decode(&v); {
		case err == io.EOF && len(docs) == 0:
			return nil, sdk.Errorf(sdk.Invalid, "text has no JSON document in it")
		case err == io.EOF:
			return docs, nil
		case err != nil:
			return nil, sdk.Errorf(sdk.Invalid, "document %d is not JSON, at byte %d: %v", len(docs)+1, dec.InputOffset(), err)
		}
		docs = append(docs, v)
	}
}

// compile gives the filter no loader of modules and no environment, so that it
// has nothing but its input.
func compile(filter string) (*gojq.Code, error) {
	if len(filter) > maxFilter {
		return nil, sdk.Errorf(sdk.TooLarge, "filter has %d bytes, at most %d are allowed", len(filter), maxFilter)
	}
	query, err := gojq.Parse(filter)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "filter: %v", err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "filter: %v", err)
	}
	return code, nil
}

// jqRun is one call: the budget left and the outputs so far.
type jqRun struct {
	steps *steps
	limit int
	bytes int
	ended bool // no further document is wanted
	out   JQOut
}

// cut ends the run with more to come.
func (r *jqRun) cut() error {
	r.ended, r.out.Truncated = true, true
	return nil
}

func (r *jqRun) over(code *gojq.Code, doc any) error {
	iter := code.RunWithContext(r.steps, doc)
	for {
		v, ok := iter.Next()
		if !ok {
			return nil
		}
		if err, failed := v.(error); failed {
			return r.stop(err)
		}
		if len(r.out.Outputs) == r.limit {
			return r.cut()
		}
		b, err := gojq.Marshal(v)
		if err != nil {
			return sdk.Errorf(sdk.Failed, "an output cannot be written as JSON: %v", err)
		}
		if r.bytes += len(b); r.bytes > maxResult {
			return r.cut()
		}
		r.out.Outputs = append(r.out.Outputs, b)
	}
}

// stop tells the ways in which a filter ends early.
func (r *jqRun) stop(err error) error {
	var halt *gojq.HaltError
	switch {
	case errors.As(err, &halt) && halt.Value() == nil:
		r.ended = true // the filter called halt: no error, and nothing after it
		return nil
	case errors.Is(err, errSteps):
		return sdk.Errorf(sdk.TooLarge, "the filter was stopped after %d steps; make it do less, or give it less", maxSteps)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return sdk.Errorf(sdk.Invalid, "the filter failed: %v", err)
}
