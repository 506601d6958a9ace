package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// ToolSpec is one tool of a [Plugin]; [Tool] makes it.
type ToolSpec struct {
	tool wire.Tool
	run  func(ctx context.Context, args []byte, h Host) ([]byte, error)
	err  error // found while making it, told by Register
}

// Option changes what a tool states about itself.
type Option func(*ToolSpec)

// Tool makes a tool of a plain function. In and Out are structs (or maps with
// string keys); their JSON Schemas are derived as docs/writing-a-plugin.md
// tells. Without options a tool is treated with care: risk medium, approval
// prompt, recovery manual.
//
// The function gets decoded arguments that fit the schema. An error becomes a
// fault whose text the model reads; a panic discards the instance.
func Tool[In, Out any](name, description string, handler func(ctx context.Context, in In, h Host) (Out, error), opts ...Option) ToolSpec {
	t := ToolSpec{tool: wire.Tool{
		Name: name, Description: description,
		Risk: RiskMedium, Approval: ApprovalPrompt, Recovery: RecoveryManual,
	}}
	in, err := deriveInput(reflect.TypeFor[In]())
	if err != nil {
		t.err = fmt.Errorf("input: %w", err)
	}
	out, err := deriveOutput(reflect.TypeFor[Out]())
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("output: %w", err)
	}
	if handler == nil && t.err == nil {
		t.err = fmt.Errorf("handler is nil")
	}
	t.tool.InputSchema, t.tool.OutputSchema = in.json, out.json
	for _, o := range opts {
		o(&t)
	}
	t.run = func(ctx context.Context, args []byte, h Host) ([]byte, error) {
		var v In
		if err := in.decode(args, reflect.ValueOf(&v).Elem()); err != nil {
			return nil, err
		}
		result, err := handler(ctx, v, h)
		if err != nil {
			return nil, err
		}
		return encodeResult(reflect.ValueOf(&result).Elem())
	}
	return t
}

// Needs lists the capabilities that the tool uses, out of the plugin's own.
func Needs(capabilities ...string) Option {
	return func(t *ToolSpec) { t.tool.Capabilities = append(t.tool.Capabilities, capabilities...) }
}

// Risk says how bad a wrong call is: low, medium, high or critical.
func Risk(word string) Option { return func(t *ToolSpec) { t.tool.Risk = word } }

// Approval advises auto, prompt or deny; the operator's policy may be stricter.
func Approval(word string) Option { return func(t *ToolSpec) { t.tool.Approval = word } }

// Recovery says what may settle a call whose end is not known: read,
// idempotent or manual.
func Recovery(word string) Option { return func(t *ToolSpec) { t.tool.Recovery = word } }

// ReadOnly is for a tool that changes nothing: low, auto, read.
func ReadOnly() Option {
	return func(t *ToolSpec) {
		t.tool.Risk, t.tool.Approval, t.tool.Recovery = RiskLow, ApprovalAuto, RecoveryRead
	}
}

// InputSchema replaces the derived schema, for a handler whose In is
// json.RawMessage. The text is a JSON object.
func InputSchema(text string) Option {
	return func(t *ToolSpec) { t.tool.InputSchema = json.RawMessage(text) }
}

// OutputSchema replaces the derived schema of the result.
func OutputSchema(text string) Option {
	return func(t *ToolSpec) { t.tool.OutputSchema = json.RawMessage(text) }
}
