package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/net"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Explanation is what would become of one call, and why.
type Explanation struct {
	effect.Explanation
	Core     string
	Revision string
	URL      *URLExplanation // set when the arguments have a "url"
}

// URLExplanation is what the egress layers say of one URL. The addresses that a name leads to are not asked: that would
// be a request to a name server.
type URLExplanation struct {
	net.Explanation
	Method string // GET, or the first that the plugin and the core let through
	Origin string
	Needs  []string // the capabilities of which one must be granted, at both layers
}

// Explain says what the gate would do with one call of a core's tool, for the operator. It runs nothing, asks nobody
// and records nothing.
func (h *Host) Explain(ctx context.Context, req Request, tool string, arguments []byte) (Explanation, error) {
	ask, err := h.ask(req)
	if err != nil {
		return Explanation{}, err
	}
	ready, err := h.prepare(ctx, ask.Core)
	if err != nil {
		return Explanation{}, err
	}
	workspace, err := workspaceOf(ready.core, req.Workspace)
	if err != nil {
		return Explanation{}, err
	}
	bound, err := h.supposed(ready.core, workspace)
	if err != nil {
		return Explanation{}, err
	}
	setup, err := h.setup(ctx, ready, ask.Known)
	if err != nil {
		return Explanation{}, err
	}
	catalog, err := h.effects.Prepare(ctx, bound, setup)
	if err != nil {
		return Explanation{}, err
	}
	defer catalog.Close()
	x := Explanation{Explanation: catalog.Explain(ctx, tool, arguments), Core: ready.core.ID(), Revision: ready.core.Revision()}
	if raw, ok := urlIn(arguments); ok && x.Found {
		if x.URL, err = h.explainURL(ctx, ready, tool, raw); err != nil {
			return Explanation{}, err
		}
	}
	return x, nil
}

// supposed binds a turn that is never admitted: the same facts, and no row anywhere.
func (h *Host) supposed(c core.Core, workspace string) (binding.Turn, error) {
	session := h.ids.Session()
	scope, err := h.resolver.Suppose(session)
	if err != nil {
		return binding.Turn{}, fmt.Errorf("host: explain: %w", err)
	}
	return bindTo(h.ids, scope, session, c, workspace)
}

func bindTo(ids *id.Source, scope principal.Scope, session id.Session, c core.Core, workspace string) (binding.Turn, error) {
	req, turnID := ids.Request(), ids.Turn()
	token := binding.Token{ID: ids.Token(), Request: req, Turn: turnID, Session: session}
	return binding.New(binding.Spec{
		Request: req, Turn: turnID, Session: session, Principal: scope, Trace: ids.Trace(), Workspace: workspace,
		Core:  binding.Core{ID: c.ID(), Revision: c.Revision(), Capabilities: c.Capabilities()},
		Route: token, Admission: token, Cancellation: token,
	})
}

// explainURL asks the layers of the egress policy that need no network.
func (h *Host) explainURL(ctx context.Context, ready prepared, tool, raw string) (*URLExplanation, error) {
	i := slices.IndexFunc(ready.plugins, func(p plugin.Installed) bool { _, ok := p.Manifest.Tool(tool); return ok })
	if i < 0 {
		return nil, nil // a tool of the host itself makes no request for a plugin
	}
	p := ready.plugins[i]
	grants, err := h.PluginGrants(ctx, p.ID)
	if err != nil {
		return nil, fmt.Errorf("host: explain: %w", err)
	}
	out, err := h.network.Plugin(networkOf(p, ready.core, grants))
	if err != nil {
		return nil, fmt.Errorf("host: explain: %w", err)
	}
	defer out.Close()
	x := &URLExplanation{Explanation: out.Explain("GET", raw), Method: "GET"}
	for _, method := range []string{"HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		if x.Declared.Allowed && x.Rules.Allowed {
			break
		}
		if other := out.Explain(method, raw); other.Declared.Allowed && other.Rules.Allowed {
			x.Explanation, x.Method = other, method
		}
	}
	x.Origin = x.Target.Origin()
	for _, n := range x.Target.Capabilities() {
		x.Needs = append(x.Needs, n.String())
	}
	return x, nil
}

// urlIn reads the "url" of an argument document, for an explanation only: what runs reads its own arguments strictly.
func urlIn(arguments []byte) (string, bool) {
	var doc struct {
		URL *string `json:"url"`
	}
	if json.Unmarshal(arguments, &doc) != nil || doc.URL == nil {
		return "", false
	}
	return *doc.URL, true
}
