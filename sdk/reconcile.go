package sdk

import (
	"context"
	"errors"
	"reflect"
	"unsafe"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Reconciliation is what a tool says about a call whose end nobody saw. Make it with a State alone, or with
// [Committed] and a Reference: where the outcome can be looked at, one line of at most 256 bytes.
type Reconciliation = wire.Reconciliation

// States of a [Reconciliation].
const (
	Committed    = wire.Committed    // it happened
	NotCommitted = wire.NotCommitted // it did not happen, and will not any more
	Unknown      = wire.Unknown      // this cannot be told now: a person will look
)

// Reconcile sets recovery to reconcile: when the host was gone before the tool's answer was recorded, handler is asked,
// once, with the arguments of that call and its [CallID], what became of it. In is the tool's own input type.
//
// The handler must only look, and is held to that: it may read keys and send GET and HEAD requests; every write is the
// fault denied or unavailable. It has no workspace, so that a tool that works on files cannot have one. Say
// [Committed] or [NotCommitted] only of what is certain. An error or a panic counts as [Unknown].
func Reconcile[In any](handler func(ctx context.Context, in In, h Host) (Reconciliation, error)) Option {
	return func(t *ToolSpec) {
		t.tool.Recovery = wire.RecoveryReconcile
		t.settles = reflect.TypeFor[In]()
		if handler == nil {
			t.faults = append(t.faults, "the handler of Reconcile is nil")
			return
		}
		t.settle = func(ctx context.Context, in unsafe.Pointer, h Host) ([]byte, error) {
			return settled(handler(ctx, *(*In)(in), h))
		}
	}
}

// settled is a handler's answer as it is sent. It is reached through the option alone, so that a plugin without it does
// not link it.
func settled(r Reconciliation, err error) ([]byte, error) {
	if err == nil {
		err = r.Check()
	}
	if err == nil && r.Fault != nil { // a handler says no by an error, as every other does
		err = r.Fault
	}
	if err != nil {
		return nil, err
	}
	var out codec.Writer
	out.Text("state", r.State)
	out.TextUnlessEmpty("reference", r.Reference)
	return out.Bytes(), nil
}

// checkReconcile finds a tool whose recovery and handler do not go together. in is the tool's input type.
func (t *ToolSpec) checkReconcile(in reflect.Type) {
	switch has := t.settle != nil; {
	case (t.tool.Recovery == wire.RecoveryReconcile) != has && t.settles == nil:
		t.faults = append(t.faults, "recovery reconcile needs the option sdk.Reconcile")
	case has && t.tool.Recovery != wire.RecoveryReconcile:
		t.faults = append(t.faults, "has sdk.Reconcile and recovery "+t.tool.Recovery+": give one of the two options")
	case has && t.settles != in:
		t.faults = append(t.faults, "the handler of Reconcile takes "+t.settles.String()+" and the tool takes "+in.String())
	}
}

// Reconcile turns the input of the export portcullis_reconcile into its output. An error means that the input is no call
// at all. Tests run handlers through this same function.
func (p *Program) Reconcile(ctx context.Context, input []byte, h Host) ([]byte, error) {
	if p.refused != nil {
		return nil, p.refused
	}
	c, err := readCall(input)
	if err != nil {
		return nil, err
	}
	out, err := p.reconcile(ctx, c, h)
	if err != nil {
		return faultReply(faultOf(err)), nil
	}
	return out, nil
}

func (p *Program) reconcile(ctx context.Context, c call, h Host) ([]byte, error) {
	t, ok := p.tools[c.tool]
	switch {
	case !ok:
		return nil, Errorf(NotFound, "plugin %s has no tool %q", p.desc.ID, c.tool)
	case t.reconcile == nil:
		return nil, errors.New(format("the tool %s cannot tell what became of a call", c.tool))
	}
	return t.reconcile(withCallID(ctx, c.id), c.args, h)
}
