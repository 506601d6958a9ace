package sdk

import (
	"context"
	"reflect"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// ToolSpec is one tool of a [Plugin]; [Tool] makes it.
type ToolSpec struct {
	tool  wire.Tool
	extra codec.Extra // types that options add
	// run appends the result to dst.
	run    func(ctx context.Context, dst []byte, args string, h Host) ([]byte, error)
	faults []string // found while making it, told by Register

	settles   reflect.Type // what the handler of [Reconcile] takes
	settle    func(ctx context.Context, in unsafe.Pointer, h Host) ([]byte, error)
	reconcile func(ctx context.Context, args string, h Host) ([]byte, error)
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
	for _, o := range opts {
		o(&t)
	}
	in, faults := deriveInput(reflect.TypeFor[In](), t.extra)
	t.refuse("input: ", faults)
	out, faults := deriveOutput(reflect.TypeFor[Out](), t.extra)
	t.refuse("output: ", faults)
	if handler == nil {
		t.faults = append(t.faults, "handler is nil")
	}
	t.checkReconcile(reflect.TypeFor[In]())
	if t.tool.InputSchema == nil {
		t.tool.InputSchema = in.json
	}
	if t.tool.OutputSchema == nil {
		t.tool.OutputSchema = out.json
	}
	first := new(In) // what every call starts from
	if len(t.faults) == 0 {
		if err := in.setDefaults(unsafe.Pointer(first)); err != nil {
			t.faults = []string{"input: " + err.Error()}
		}
	}
	t.run = func(ctx context.Context, dst []byte, args string, h Host) ([]byte, error) {
		v := *first
		if err := in.decode(args, unsafe.Pointer(&v)); err != nil {
			return nil, err
		}
		result, err := handler(ctx, v, h)
		if err != nil {
			return nil, err
		}
		return out.encode(dst, unsafe.Pointer(&result))
	}
	if t.settle != nil {
		t.reconcile = func(ctx context.Context, args string, h Host) ([]byte, error) {
			v := *first
			if err := in.decode(args, unsafe.Pointer(&v)); err != nil {
				return nil, err
			}
			return t.settle(ctx, unsafe.Pointer(&v), h)
		}
	}
	return t
}

// refuse keeps what is wrong with the input or the output.
func (t *ToolSpec) refuse(side string, faults codec.Faults) {
	for _, f := range faults.Told() {
		t.faults = append(t.faults, side+f)
	}
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
// idempotent or manual; for reconcile use [Reconcile].
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
	return func(t *ToolSpec) { t.tool.InputSchema = wire.RawJSON(text) }
}

// OutputSchema replaces the derived schema of the result.
func OutputSchema(text string) Option {
	return func(t *ToolSpec) { t.tool.OutputSchema = wire.RawJSON(text) }
}
