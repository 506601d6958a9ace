package host

import (
	"context"

	"github.com/b3abf3ee/portcullis/host/authority"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/principal"
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Request asks for a turn on behalf of the operator at this machine.
type Request struct {
	Core        string          // empty: config.yaml's default_core
	Input       string          // of Run; ignored by Call
	Session     turn.Selector   // zero: a fresh session
	Key         id.Request      // idempotency key; empty: one is made
	Reason      string          // why the operator acts, for the audit record; empty: "command line"
	Workspace   string          // absolute folder; empty: the core's
	Known       []redact.Secret // values that no view may show
	Model       turn.ModelChoice
	Interaction map[string]string
}

// Run runs one turn for the operator. See [turn.Execution.Run] for what it returns.
func (h *Host) Run(ctx context.Context, req Request, obs turn.Observer) (turn.Result, error) {
	ask, err := h.ask(req)
	if err != nil {
		return turn.Result{}, err
	}
	return h.turns.Run(ctx, ask, obs)
}

// Call runs one effect for the operator, through the whole gate and with no model.
func (h *Host) Call(ctx context.Context, req Request, tool string, arguments []byte, obs turn.Observer) (turn.Result, effect.Result, error) {
	req.Input = ""
	ask, err := h.ask(req)
	if err != nil {
		return turn.Result{}, effect.Result{}, err
	}
	return h.turns.Call(ctx, ask, tool, arguments, obs)
}

// Cancel ends a running turn that the scope reaches, and waits for its terminal state.
func (h *Host) Cancel(ctx context.Context, by principal.Scope, t id.Turn) (turn.CancelResult, error) {
	return h.turns.Cancel(ctx, h.cfg.Store, by, t)
}

func (h *Host) ask(req Request) (turn.Request, error) {
	if req.Core == "" {
		req.Core = h.settings.DefaultCore
	}
	if req.Session.Kind == "" {
		req.Session.Kind = turn.Fresh
	}
	if req.Reason == "" {
		req.Reason = "command line"
	}
	known, err := redact.Set{}.With(req.Known...)
	if err != nil {
		return turn.Request{}, &turn.RejectedError{Request: req.Key, Reason: turn.RejectInput, Sentence: err.Error()}
	}
	return turn.Request{
		Key: req.Key, Actor: authority.OperatorFacts(req.Reason), Selector: req.Session, Core: req.Core, Input: req.Input,
		Workspace: req.Workspace, Interaction: req.Interaction, Known: known, Model: req.Model,
	}, nil
}
