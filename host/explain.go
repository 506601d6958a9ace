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
	"github.com/b3abf3ee/portcullis/policy/redact"
)

// Explanation is what would become of one call, and why.
type Explanation struct {
	effect.Explanation
	Core      string
	Revision  string
	Principal string          // who would act
	URL       *URLExplanation // set when the arguments have a "url"
	Approvers []string        // who may decide when a person must: principal ids
	Secrets   effect.Refusal  // why the call would get no secrets; zero also when it needs none
}

// URLExplanation is what the egress layers say of one URL. The addresses that a name leads to are not asked: that would
// be a request to a name server.
type URLExplanation struct {
	net.Explanation
	Method string // the arguments' "method", else GET or the first that the plugin and the core let through
	Origin string
	Needs  []string // the capabilities of which one must be granted, at both layers
}

// Supposed is for whom calls are explained, and where.
type Supposed struct {
	Core      string              // empty: config.yaml's default_core
	Workspace string              // absolute folder; empty: the core's
	As        principal.Authority // whose authority; empty: the operator's
	// Rules explains by the rules alone: whether a secret that a call may have is kept on this machine makes no difference.
	Rules bool
}

// Explainer answers for the calls of one core, as its files and the operator's grants were when it was made. Close it.
type Explainer struct {
	h       *Host
	sup     Supposed
	ready   prepared
	catalog *effect.Catalog
	who     string
	decides []string
}

// Explainer makes ready to say what the gate would do with calls of a core's tools. Like everything that it says, this
// runs nothing, asks nobody and records nothing. The errors are those of a rejected or failed turn.
func (h *Host) Explainer(ctx context.Context, sup Supposed) (*Explainer, error) {
	if sup.As == "" {
		sup.As = principal.Operator
	}
	ready, err := h.prepare(ctx, sup.Core)
	if err != nil {
		return nil, err
	}
	workspace, err := workspaceOf(ready.core, sup.Workspace)
	if err != nil {
		return nil, err
	}
	bound, err := h.supposed(ready.core, workspace, sup.As)
	if err != nil {
		return nil, err
	}
	setup, _, err := h.setup(ctx, ready, redact.Set{}, factsOf(bound.Principal()), nil)
	if err != nil {
		return nil, err
	}
	catalog, err := h.effects.Prepare(ctx, bound, setup)
	if err != nil {
		return nil, err
	}
	return &Explainer{h, sup, ready, catalog, bound.Principal().PrincipalID(), setup.Approvers}, nil
}

// factsOf is who a scope is for.
func factsOf(by principal.Scope) principal.Facts {
	return principal.Facts{PrincipalID: by.PrincipalID(), Authority: by.Authority()}
}

// Close gives the core back. It may be called again.
func (x *Explainer) Close() { x.catalog.Close() }

// Explain says what the gate would do with one call. Empty arguments are not looked at.
func (x *Explainer) Explain(ctx context.Context, tool string, arguments []byte) (Explanation, error) {
	got := Explanation{
		Explanation: x.h.effects.Explain(ctx, x.catalog, tool, arguments),
		Core:        x.ready.core.ID(), Revision: x.ready.core.Revision(), Principal: x.who, Approvers: x.decides,
	}
	var err error
	if method, raw, ok := urlIn(arguments); ok && got.Found {
		if got.URL, err = x.h.explainURL(ctx, x.ready, tool, method, raw); err != nil {
			return Explanation{}, err
		}
	}
	if len(got.Wanted.Names) > 0 && !x.sup.Rules {
		if got.Secrets, err = x.h.binder.Would(ctx, got.Wanted); err != nil {
			return Explanation{}, fmt.Errorf("host: explain: %w", err)
		}
	}
	return got, nil
}

// supposed binds a turn that is never admitted: the same facts, and no row anywhere.
func (h *Host) supposed(c core.Core, workspace string, as principal.Authority) (binding.Turn, error) {
	session := h.ids.Session()
	scope, err := h.resolver.SupposeAs(session, as)
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
func (h *Host) explainURL(ctx context.Context, ready prepared, tool, method, raw string) (*URLExplanation, error) {
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
	if method != "" {
		return urlExplained(out.Explain(method, raw), method), nil
	}
	x := urlExplained(out.Explain("GET", raw), "GET")
	for _, method := range []string{"HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		if x.Declared.Allowed && x.Rules.Allowed {
			break
		}
		if other := out.Explain(method, raw); other.Declared.Allowed && other.Rules.Allowed {
			return urlExplained(other, method), nil
		}
	}
	return x, nil
}

func urlExplained(x net.Explanation, method string) *URLExplanation {
	u := &URLExplanation{Explanation: x, Method: method, Origin: x.Target.Origin()}
	for _, n := range x.Target.Capabilities() {
		u.Needs = append(u.Needs, n.String())
	}
	return u
}

// urlIn reads "url" and "method" of an argument document, for an explanation only: what runs reads its own arguments
// strictly.
func urlIn(arguments []byte) (method, url string, ok bool) {
	var doc struct {
		URL    *string `json:"url"`
		Method string  `json:"method"`
	}
	if json.Unmarshal(arguments, &doc) != nil || doc.URL == nil {
		return "", "", false
	}
	return doc.Method, *doc.URL, true
}
