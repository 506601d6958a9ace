package turn

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/b3abf3ee/portcullis/host/effect"
)

// Call runs one effect as a turn of its own, with no model: the same admission, binding, catalog, gate and terminal
// state. The effect's result is returned beside the turn's; it is the zero Result when the turn never came that far.
func (x *Execution) Call(ctx context.Context, req Request, tool string, arguments []byte, obs Observer) (Result, effect.Result, error) {
	arguments = bytes.Clone(arguments) // what was approved is what runs, whatever the caller does with its own
	req.Direct, req.call = true, []string{tool, string(arguments)}
	if req.Input == "" {
		req.Input = "call " + tool
	}
	var done atomic.Pointer[effect.Result] // a call that is given up may still come to an end
	res, err := x.pass(ctx, req, obs, func(w *work, ctx context.Context) ending {
		got := w.direct(ctx, tool, arguments)
		done.Store(&got)
		return directEnding(got)
	})
	if got := done.Load(); got != nil {
		return res, *got, err
	}
	return res, effect.Result{}, err
}

func (w *work) direct(ctx context.Context, tool string, arguments []byte) effect.Result {
	req := effect.Request{
		ID: w.x.cfg.IDs.Effect(), Arguments: arguments, From: effect.FromHost, Catalog: w.catalog,
		Observe: w.obs.Stage, Progress: w.obs.Progress,
	}
	res := w.gate(ctx, req, tool)
	w.did(res.Summary())
	if w.obs.Effect != nil {
		w.obs.Effect(res)
	}
	return res
}

// gate passes a call through the gate. The name is resolved in the frozen catalog and nowhere else.
func (w *work) gate(ctx context.Context, req effect.Request, tool string) effect.Result {
	ref, ok := w.catalog.Resolve(tool)
	if !ok {
		return w.x.cfg.Effects.Unknown(ctx, req, tool, w.bound)
	}
	req.Ref = ref
	return w.x.cfg.Effects.Execute(ctx, req, w.bound)
}

// directEnding is the end of a turn that was one effect.
func directEnding(r effect.Result) ending {
	switch r.Status {
	case effect.Succeeded:
		return ending{outcome: Completed}
	case effect.Cancelled:
		return ending{outcome: Cancelled, reason: r.Reason, sentence: r.Sentence}
	case effect.Indeterminate:
		return ending{outcome: Indeterminate, reason: r.Reason, sentence: r.Sentence}
	}
	return failed("effect_"+string(r.Status), r.Sentence)
}
