package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/b3abf3ee/portcullis/host/binding"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/effect"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/policy/principal"
)

// Explanation is what would become of one call, and why.
type Explanation struct {
	effect.Explanation
	Core     string
	Revision string
	URL      *URLExplanation // set when the arguments have a "url"
}

// URLExplanation is what the egress layers say of one URL. The addresses it resolves to are not asked: that would be a
// request to a name server.
type URLExplanation struct {
	Origin  string
	Parsed  egress.Verdict
	Needs   []string // the capabilities of which one must be granted, at both layers
	Granted bool     // to the plugin
	InCore  bool
	Rules   egress.Verdict // of the core's egress section; Allowed where there is none
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
	target, parsed := egress.ParseURL(raw)
	x := &URLExplanation{Parsed: parsed, Rules: egress.Verdict{Allowed: true}}
	if !parsed.Allowed {
		return x, nil
	}
	x.Origin = target.Origin()
	for _, p := range ready.plugins {
		if _, ok := p.Manifest.Tool(tool); !ok {
			continue
		}
		grants, err := h.PluginGrants(ctx, p.ID)
		if err != nil {
			return nil, fmt.Errorf("host: explain: %w", err)
		}
		for _, n := range target.Capabilities() {
			x.Needs = append(x.Needs, n.String())
			x.Granted = x.Granted || grants.Allows(n)
			x.InCore = x.InCore || ready.core.Capabilities().Allows(n)
		}
	}
	if rules, narrows := ready.core.Egress(); narrows {
		x.Rules = rules.Check("GET", target)
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
