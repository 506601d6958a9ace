package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/credential"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/net"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/redact"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// pluginAdapter runs the tools of one plugin, whose code is made ready when the first call needs it.
type pluginAdapter struct {
	h      *Host
	plugin plugin.Installed
	core   core.Core
	within []core.Core // the cores that this one works for
}

// Within is the adapter of a child agent's turn: it reaches what its own core may reach and the other's too. See
// [effect.Narrower].
func (a *pluginAdapter) Within(of effect.Adapter) (effect.Adapter, error) {
	from, ok := of.(*pluginAdapter)
	if !ok || from.plugin.Digest != a.plugin.Digest {
		return nil, fmt.Errorf("host: plugin %s is not the one of the turn that it works for", a.plugin.ID)
	}
	narrow := *a
	narrow.within = append(slices.Clone(from.within), from.core)
	return &narrow, nil
}

// Invoke runs one call in a fresh instance. See [effect.Adapter].
func (a *pluginAdapter) Invoke(ctx context.Context, call effect.Call) effect.Outcome {
	var network *net.PluginHTTP
	ready, err := a.ready(ctx, call, &network)
	if err != nil {
		return notLoaded(ctx, err)
	}
	out := ready.Invoke(ctx, call)
	if network != nil && out.Fault != nil && out.Fault.Code == wire.CodeDenied {
		out.Remedy = network.Remedy(out.Fault.Message)
	}
	return out
}

// Reconcile asks the plugin what became of an earlier call, in a fresh instance. See [effect.Reconciler].
func (a *pluginAdapter) Reconcile(ctx context.Context, call effect.Call) effect.Reconciliation {
	ready, err := a.ready(ctx, call, new(*net.PluginHTTP))
	if err != nil {
		out := notLoaded(ctx, err)
		return effect.Reconciliation{Answer: effect.AnswerUnknown, Reason: cmp.Or(out.Reason, string(out.Status)), Detail: out.Detail}
	}
	return ready.Reconcile(ctx, call)
}

// ready is the plugin's code with what the call may act on. network becomes the call's, once it is used.
func (a *pluginAdapter) ready(ctx context.Context, call effect.Call, network **net.PluginHTTP) (*sandbox.Adapter, error) {
	if err := a.h.plugins.Stands(a.plugin.ID, a.plugin.Version); err != nil { // removed while its code is in memory
		return nil, err
	}
	loaded, err := a.h.load(ctx, a.plugin, call.Grants)
	if err != nil {
		return nil, err
	}
	ports := sandbox.Ports{KV: a.h.cfg.Store, Sign: a.signer, HTTP: func(call effect.Call) (sandbox.HTTPDoer, func(), error) {
		made, err := a.http(call)
		if err != nil {
			return nil, nil, err
		}
		*network = made
		return made, made.Close, nil
	}}
	return sandbox.NewAdapter(loaded, ports), nil
}

func meets(s capability.Snapshot, need string) bool {
	n, err := capability.Parse(need)
	return err == nil && s.Meets(n)
}

// http is what the call may reach, with its decisions on record under the effect's id.
func (a *pluginAdapter) http(call effect.Call) (*net.PluginHTTP, error) {
	c := networkOf(a.plugin, a.core, call.Grants)
	c.Capabilities = call.Turn.Core().Capabilities
	for _, from := range a.within {
		if rules, narrows := from.Egress(); narrows {
			c.Within = append(c.Within, rules)
		}
	}
	if call.Looks {
		c.Egress = looking(c.Egress)
	}
	c.Credentials, c.Mask = a.credentials(call), mask(call)
	c.Audit = func(ctx context.Context, d net.Decision) error { return a.h.recordEgress(ctx, d, call) }
	c.Holds = func(text []byte) bool {
		_, held := call.Redactor().Holds(text)
		return held
	}
	return a.h.network.Plugin(c)
}

// looking are rules of which only the methods are left that change nothing.
func looking(rules []wire.Egress) []wire.Egress {
	var out []wire.Egress
	for _, r := range rules {
		if len(r.Methods) > 0 {
			r.Methods = slices.DeleteFunc(slices.Clone(r.Methods), func(m string) bool { return m != http.MethodGet && m != http.MethodHead })
			if len(r.Methods) == 0 {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// signer is what the call may have signed: what the manifest declares, with the secrets that were bound for it.
func (a *pluginAdapter) signer(call effect.Call) sandbox.Signer {
	return credential.NewSigner(a.plugin.Manifest.Signing, call.Secrets)
}

// credentials are the places of the manifest whose secrets were bound for the call.
func (a *pluginAdapter) credentials(call effect.Call) []net.Credential {
	var out []net.Credential
	for _, place := range a.plugin.Manifest.Credentials {
		if _, ok := call.Secrets.Value(place.Secret); ok {
			out = append(out, net.Credential{Place: place, Value: func() string { v, _ := call.Secrets.Value(place.Secret); return v }})
		}
	}
	return out
}

// networkOf is all that decides where a plugin of a core may go.
func networkOf(p plugin.Installed, c core.Core, grants capability.Snapshot) net.PluginCall {
	out := net.PluginCall{
		Plugin: p.ID, Egress: p.Manifest.Egress, Grants: grants, Core: c.ID(), Capabilities: c.Capabilities(),
	}
	if rules, narrows := c.Egress(); narrows {
		out.CoreRules = &rules
	}
	return out
}

// mask takes what the host knows as secret out of what a plugin is about to read.
func mask(call effect.Call) func([]byte) ([]byte, bool) {
	if call.Redactor == nil || call.Redactor().Len() == 0 {
		return nil
	}
	return func(text []byte) ([]byte, bool) {
		masked, _, ok := call.Redactor().Mask(redact.ForModel, text)
		return masked, ok
	}
}

// notLoaded is the outcome of a call whose plugin could not be made ready. Nothing of it ran.
func notLoaded(ctx context.Context, err error) effect.Outcome {
	var bad *sandbox.LoadError
	var broken *plugin.BrokenError
	var missing *plugin.MissingError
	switch {
	case errors.Is(ctx.Err(), context.Canceled) && (!errors.As(err, &bad) || bad.Code == sandbox.CodeUnavailable):
		return effect.Outcome{Status: effect.Cancelled} // whoever waited for it gave up: nothing is wrong with the plugin
	case errors.As(err, &missing):
		return effect.Outcome{Status: effect.Failed, Reason: "plugin_missing", Detail: missing.Error()}
	case errors.As(err, &broken):
		return effect.Outcome{Status: effect.Failed, Reason: "plugin_" + string(broken.Reason), Detail: broken.Error()}
	case errors.As(err, &bad):
		return effect.Outcome{Status: effect.Failed, Reason: "plugin_" + string(bad.Code), Detail: bad.Sentence}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return effect.Outcome{Status: effect.TimedOut}
	case ctx.Err() != nil:
		return effect.Outcome{Status: effect.Cancelled}
	}
	return effect.Outcome{Status: effect.Failed, Reason: "plugin_not_loaded", Detail: err.Error()}
}
