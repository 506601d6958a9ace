package sandbox

import (
	"context"
	"time"

	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// describeTime bounds a description; a Go guest needs some milliseconds.
const describeTime = 10 * time.Second

// DescribeError says that a module did not describe itself.
type DescribeError struct{ Outcome Outcome }

// Error says how the call ended; it leaves the guest's words to the caller.
func (e *DescribeError) Error() string {
	return "sandbox: " + wire.ExportDescribe + " ended with " + string(e.Outcome.Status) + " (" + e.Outcome.Reason + ")"
}

// Describe asks a module what it is, for the builder: it may import any ability
// and is given none, every use being answered with "denied". The answer is the
// guest's bytes, at most [wire.MaxDescription], not looked at. A module that is
// refused is a [*LoadError], one that fails a [*DescribeError].
func (e *Engine) Describe(ctx context.Context, wasm []byte) ([]byte, error) {
	limits := LimitsOf(wire.Limits{OutputBytes: wire.MaxDescription})
	p, err := e.load(ctx, original{wasm: wasm}, digestOf(wasm), spec{
		name:       "under construction",
		exports:    []string{wire.ExportDescribe},
		limits:     e.cap(limits),
		describing: true,
	})
	if err != nil {
		return nil, err
	}
	out := p.Call(ctx, wire.ExportDescribe, nil, CallOptions{Timeout: describeTime})
	if err := p.Close(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	if out.Status != OK {
		return nil, &DescribeError{out}
	}
	return out.Output, nil
}
