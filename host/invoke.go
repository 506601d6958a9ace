package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/net"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// pluginAdapter runs the tools of one plugin in the sandbox. It binds one call to what that call may act on:
// workspace, stored values of this plugin and principal, and the places that manifest, operator and core all allow.
type pluginAdapter struct {
	h      *Host
	opened plugin.Opened
	core   core.Core
}

// Invoke runs one call in a fresh instance. See [effect.Adapter].
func (a *pluginAdapter) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	loaded, err := a.h.load(ctx, a.opened, call.Grants)
	if err != nil {
		return notLoaded(ctx, err)
	}
	opt := sandbox.CallOptions{
		OutputLimit: int64(call.Output), Progress: call.Progress, KV: a.h.cfg.Store,
		Abilities: sandbox.AbilitiesFrom(func(need string) bool { return meets(call.Grants, need) && meets(a.core.Capabilities(), need) }),
		Scope:     sandbox.KVScope{Plugin: a.opened.ID, Principal: call.Turn.Principal().PrincipalID()},
	}
	if dir := call.Turn.Workspace(); dir != "" {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return effect.Outcome{Status: effect.Failed, Reason: "workspace_unusable", Detail: "the workspace cannot be opened: " + err.Error()}
		}
		defer root.Close()
		opt.Workspace = root
	}
	if opt.Abilities.Has(sandbox.MayFetch) {
		out, err := a.http(call)
		if err != nil {
			return effect.Outcome{Status: effect.Failed, Reason: "egress_invalid", Detail: err.Error()}
		}
		defer out.Close()
		opt.HTTP = out
	}
	input, err := json.Marshal(wire.Call{ID: string(call.Effect), Tool: call.Tool, Args: call.Arguments})
	if err != nil {
		return effect.Outcome{Status: effect.Failed, Reason: "call_invalid", Detail: err.Error()}
	}
	return outcomeOf(loaded.Call(ctx, wire.ExportInvoke, input, opt))
}

func meets(s capability.Snapshot, need string) bool {
	n, err := capability.Parse(need)
	return err == nil && s.Meets(n)
}

// http is what the call may reach, with its decisions on record under the effect's id.
func (a *pluginAdapter) http(call effect.Call) (*net.PluginHTTP, error) {
	c := net.PluginCall{
		Plugin: a.opened.ID, Egress: a.opened.Manifest.Egress, Grants: call.Grants,
		Core: a.core.ID(), Capabilities: a.core.Capabilities(),
		Audit: func(ctx context.Context, d net.Decision) error { return a.h.recordEgress(ctx, d, call) },
	}
	if rules, narrows := a.core.Egress(); narrows {
		c.CoreRules = &rules
	}
	return a.h.network.Plugin(c)
}

// notLoaded is the outcome of a call whose plugin could not be made ready. Nothing of it ran.
func notLoaded(ctx context.Context, err error) effect.Outcome {
	var bad *sandbox.LoadError
	switch {
	case errors.As(err, &bad):
		return effect.Outcome{Status: effect.Failed, Reason: "plugin_" + string(bad.Code), Detail: bad.Sentence}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return effect.Outcome{Status: effect.TimedOut}
	case ctx.Err() != nil:
		return effect.Outcome{Status: effect.Cancelled}
	}
	return effect.Outcome{Status: effect.Failed, Reason: "plugin_not_loaded", Detail: err.Error()}
}

// outcomeOf turns what the sandbox saw into what the gate judges. An abandoned call may still be inside a host
// function, so what it did is not known.
func outcomeOf(o sandbox.Outcome) effect.Outcome {
	out := effect.Outcome{Duration: o.Stats.Duration, Stats: o.Stats.Map(), Logs: o.Logs, Reason: "guest_" + string(o.Status), Detail: o.Text}
	if o.Err != nil && out.Detail == "" {
		out.Detail = o.Err.Error()
	}
	switch o.Status {
	case sandbox.OK:
		return answer(out, o.Output)
	case sandbox.TimedOut:
		out.Status = effect.TimedOut
	case sandbox.Cancelled:
		out.Status = effect.Cancelled
	default:
		out.Status = effect.Failed
	}
	if o.Abandoned {
		out.Status, out.Reason, out.Detail = effect.Indeterminate, "call_abandoned", "a host function did not come back in time"
	}
	return out
}

// answer reads a guest's reply: strict, exactly one of result and fault.
func answer(out effect.Outcome, raw []byte) effect.Outcome {
	var reply wire.Reply
	err := jsonv2.Unmarshal(raw, &reply, jsonv2.RejectUnknownMembers(true))
	if err == nil {
		err = reply.Check()
	}
	switch {
	case err != nil:
		out.Status, out.Reason, out.Detail = effect.Failed, "guest_reply_invalid", "the plugin's reply is not one that this host reads: "+err.Error()
	case reply.Fault != nil:
		out.Status, out.Reason, out.Detail, out.Fault = effect.Failed, "", "", reply.Fault
	default:
		out.Status, out.Reason, out.Detail, out.Result = effect.Succeeded, "", "", reply.Result
	}
	return out
}
