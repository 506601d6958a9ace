package conformance

import (
	"context"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/sandbox"
)

// Engine runs one entry point of one module, each call apart from the others.
// An error means that the engine could not do its job.
type Engine interface {
	Call(ctx context.Context, export string, input []byte, opt sandbox.CallOptions) (Answer, error)
}

// OnSandbox runs calls on our own engine, whose outcomes it turns into answers.
func OnSandbox(p *sandbox.Plugin) Engine { return own{p} }

type own struct{ plugin *sandbox.Plugin }

// Call gives an output for a call that came back with 0 and set none too, as
// the other engine does: what is compared is the guest, not our rule that such
// a call has failed.
func (o own) Call(ctx context.Context, export string, input []byte, opt sandbox.CallOptions) (Answer, error) {
	out := o.plugin.Call(ctx, export, input, opt)
	switch out.Status {
	case sandbox.OK:
		return Answer{Output: out.Output}, nil
	case sandbox.NoOutput:
		return Answer{}, nil
	case sandbox.GuestError:
		if out.Text != "" {
			return Answer{Error: out.Text}, nil
		}
		return Answer{Error: "rc " + out.Reason[len("rc_"):]}, nil
	case sandbox.Refused, sandbox.HostFailure:
		return Answer{}, fmt.Errorf("conformance: call %s: %s (%s): %v", export, out.Status, out.Reason, out.Err)
	}
	return Answer{Broken: fmt.Sprintf("%s (%s) %v %s", out.Status, out.Reason, out.Err, out.Text)}, nil
}
