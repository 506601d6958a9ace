package sdk

import (
	"context"
	"errors"

	"github.com/b3abf3ee/portcullis/sdk/internal/codec"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// Invoke turns the input of the export portcullis_invoke into its output. An
// error means that the input is no call at all; every other "no" is a fault in
// the reply. Tests run handlers through this same function.
func (p *Program) Invoke(ctx context.Context, input []byte, h Host) ([]byte, error) {
	if p.refused != nil {
		return nil, p.refused
	}
	call, err := readCall(input)
	if err != nil {
		return nil, err
	}
	const before = `{"result":`
	out := append(make([]byte, 0, len(before)+len(input)), before...)
	out, err = p.call(ctx, out, call, h)
	if err != nil {
		return faultReply(faultOf(err)), nil
	}
	out = append(out, '}')
	if len(out) > wire.MaxReplyBytes {
		err := Errorf(TooLarge, "the result of %s has %d bytes, at most %d are allowed", call.tool, len(out), wire.MaxReplyBytes)
		return faultReply(faultOf(err)), nil
	}
	return out, nil
}

// call is a wire.Call whose arguments are still text.
type call struct{ id, tool, args string }

func readCall(input []byte) (call, error) {
	var c call
	if len(input) > wire.MaxCallBytes {
		return c, errors.New(format("sdk: the call has %d bytes, at most %d are allowed", len(input), wire.MaxCallBytes))
	}
	err := codec.Members(string(input), func(name string, r *codec.Reader) error {
		switch name {
		case "id":
			return r.Text(&c.id)
		case "tool":
			return r.Text(&c.tool)
		case "args":
			return r.JSON(&c.args)
		}
		return r.Unknown(name)
	})
	if err != nil {
		return c, errors.New("sdk: the call is not understood: " + err.Error())
	}
	return c, nil
}

func faultReply(f *Fault) []byte {
	var inner, o codec.Writer
	inner.Text("code", string(f.Code))
	inner.Text("message", f.Message)
	o.JSON("fault", inner.Bytes())
	return o.Bytes()
}

func (p *Program) call(ctx context.Context, dst []byte, c call, h Host) ([]byte, error) {
	t, ok := p.tools[c.tool]
	if !ok {
		return nil, Errorf(NotFound, "plugin %s has no tool %q", p.desc.ID, c.tool)
	}
	return t.run(withCallID(ctx, c.id), dst, c.args, h)
}

type callIDKey struct{}

func withCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

// CallID is the id of the running call, the same when the host repeats it: the
// idempotency key to hand on to a service that takes one.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callIDKey{}).(string)
	return id
}
