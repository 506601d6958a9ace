package sandbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// silent is a network of which a request went out and was not answered.
type silent struct{ doer }

func (silent) Unanswered() bool { return true }

// changing is a network of which a request was answered.
type changing struct{ doer }

func (changing) Changed() bool { return true }

func TestTheAdapterTellsOfAnUnansweredRequest(t *testing.T) {
	answers := doer(func(context.Context, wire.HTTPRequest, []byte) (wire.HTTPReply, []byte, error) {
		return wire.HTTPReply{Status: 200}, nil, nil
	})
	waits := doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
		<-late(ctx)
		return wire.HTTPReply{}, nil, ctx.Err()
	})
	const fault = `{"fault":{"code":"timeout","message":"no answer"}}`
	for name, c := range map[string]struct {
		http       sandbox.HTTPDoer
		reply      string
		status     effect.Status
		unanswered bool
		changed    bool
	}{
		"looked":                  {answers, fault, effect.Failed, false, false},
		"a fault":                 {silent{answers}, fault, effect.Failed, true, false},
		"no reply of its form":    {silent{answers}, `{}`, effect.Failed, true, false},
		"no more time":            {silent{waits}, fault, effect.TimedOut, true, false},
		"answered":                {changing{answers}, fault, effect.Failed, false, true},
		"answered, and no reply":  {changing{answers}, `{}`, effect.Failed, false, true},
		"answered, and cut short": {changing{waits}, fault, effect.TimedOut, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // time passes when all wait: a busy machine is never late
				p := toolPlugin(t, open(t, sandbox.Config{}), c.reply, toolNeeds...)
				a := sandbox.NewAdapter(p, sandbox.Ports{HTTP: func(effect.Call) (sandbox.HTTPDoer, func(), error) { return c.http, func() {}, nil }})
				call := demoCall(t)
				call.Deadline = time.Now().Add(time.Second)
				if out := a.Invoke(t.Context(), call); out.Status != c.status || out.Unanswered != c.unanswered || out.Changed != c.changed {
					t.Errorf("%s (%s), unanswered %v, changed %v: %s", out.Status, out.Reason, out.Unanswered, out.Changed, out.Detail)
				}
			})
		})
	}
}

// An answer that came when the guest's time for it was over, or that is longer than it may be, is not the guest's: for the
// guest there was none.
func TestAnAnswerThatIsDroppedIsNone(t *testing.T) {
	whole := doer(func(_ context.Context, r wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
		return wire.HTTPReply{Status: 200}, make([]byte, r.MaxBytes), nil
	})
	long := doer(func(_ context.Context, r wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
		return wire.HTTPReply{Status: 200}, make([]byte, r.MaxBytes+1), nil
	})
	tooLate := doer(func(ctx context.Context, _ wire.HTTPRequest, _ []byte) (wire.HTTPReply, []byte, error) {
		<-ctx.Done()
		return wire.HTTPReply{Status: 200}, nil, nil
	})
	for name, c := range map[string]struct {
		http       doer
		method     string
		unanswered bool
	}{
		"passed on":       {whole, "POST", false},
		"too long":        {long, "POST", true},
		"too late":        {tooLate, "POST", true},
		"a look too late": {tooLate, "GET", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := abilities(t, sandbox.Config{}).Call(t.Context(), "portcullis_http", frame(`{"method":"`+c.method+`","url":"http://x","max_bytes":9,"timeout_ms":20}`, ""),
					sandbox.CallOptions{Abilities: everything, HTTP: c.http})
				want(t, out, sandbox.OK, "")
				if out.Unanswered != c.unanswered {
					t.Errorf("unanswered %v: %s", out.Unanswered, out.Output)
				}
			})
		})
	}
}
