package net

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/b3abf3ee/portcullis/policy/capability"
	"github.com/b3abf3ee/portcullis/policy/egress"
	"github.com/b3abf3ee/portcullis/sdk/wire"
)

// PluginCall is everything that decides where one call of one plugin may go. A request needs all of it: a rule of
// the manifest, a grant of the operator, a capability of the core, and the core's own rules when it has any.
type PluginCall struct {
	Plugin string              // id, for sentences and the audit
	Egress []wire.Egress       // what the manifest declares
	Grants capability.Snapshot // what the operator granted to the plugin

	Core         string              // id, for sentences
	Capabilities capability.Snapshot // the core's, as the turn holds them
	CoreRules    *egress.Policy      // nil: the core does not narrow further
	Within       []egress.Policy     // rules of the cores that this one works for; all must let it through

	// Credentials are the places of the manifest whose secrets were bound for this call.
	Credentials []Credential
	// Mask takes the values that the host knows out of what a server answered, before the plugin reads it; false: it
	// cannot be searched, and is not passed on. nil: the host knows none.
	Mask func(text []byte) (masked []byte, ok bool)
	// Holds reports that text holds a value that is the host's, in any encoding. A request in whose URL, headers or body
	// the plugin wrote one is refused before anything else is asked; what the host itself adds to a request later is not
	// looked at. nil holds nothing.
	Holds func(text []byte) bool

	// Audit records this call's decisions instead of [Config.Audit], for example with the effect's id. The same
	// rules hold for it.
	Audit func(ctx context.Context, d Decision) error
}

// PluginHTTP is the HTTP of one plugin call. Close it when the call is over. Requests may overlap.
type PluginHTTP struct {
	gate     *Gate
	call     PluginCall
	declared egress.Policy // the manifest's rules
	anywhere []wire.Egress // those of them that leave the host open
	spots    []spot        // where credentials go
	life     context.Context
	end      context.CancelFunc

	unanswered atomic.Bool
	changed    atomic.Bool

	mu      sync.Mutex // guards what follows
	lanes   map[string]*lane
	refusal string // the sentence of the request that was refused last
	remedy  string // of it
}

// Plugin makes the HTTP of one plugin call. An error means that the manifest's egress or credentials are not valid,
// which installing it would have refused.
func (g *Gate) Plugin(c PluginCall) (*PluginHTTP, error) {
	p := &PluginHTTP{gate: g, call: c, lanes: map[string]*lane{}}
	if p.call.Audit == nil {
		p.call.Audit = g.audit
	}
	var rules []egress.Rule
	for _, e := range c.Egress {
		rules = append(rules, ruleOf(e, e.Host))
		if e.Host == "*" {
			p.anywhere = append(p.anywhere, e)
		}
	}
	var err error
	if p.declared, err = egress.NewPolicy(rules...); err != nil {
		return nil, err
	}
	if p.spots, err = spots(c.Credentials); err != nil {
		return nil, err
	}
	p.life, p.end = context.WithCancel(context.Background())
	return p, nil
}

func ruleOf(e wire.Egress, host string) egress.Rule {
	r := egress.Rule{Host: host, Methods: e.Methods, PathPrefix: e.PathPrefix}
	if e.Port != 0 {
		r.Ports = []uint16{uint16(e.Port)}
	}
	return r
}

// Close ends every connection of the call. A request that is still running fails. It may be called twice.
func (p *PluginHTTP) Close() {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lanes {
		l.transport.CloseIdleConnections()
	}
}

// Unanswered reports that a request which may have changed something went out, and that the plugin was not given its whole
// answer: the server was silent, the connection failed or was given up, or the host could not pass the answer on. What was
// refused before it had a connection did not go out: by policy, by the name server, by the address, by its certificate. A
// redirect that keeps the method says that nothing was done; one that makes a GET of a POST does not. It may be called at any
// time; what is still running does not count.
func (p *PluginHTTP) Unanswered() bool { return p.unanswered.Load() }

// Changed reports that a request which may have changed something was answered, and not with a refusal (400 to 499). A redirect
// that makes a GET of a POST answers it; one that keeps the method does not. It may be called at any time.
func (p *PluginHTTP) Changed() bool { return p.changed.Load() }

// Remedy is what the operator would type or edit so that the request that was refused last is let through; empty when
// nothing was refused, when nothing helps, and when said, the words of the call's own end, does not hold those of the refusal:
// a plugin that is denied something else later does not end for the request. It is for the operator alone: the plugin and the
// model behind it are told what was refused, and not how that could be changed.
func (p *PluginHTTP) Remedy(said string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusal == "" || !strings.Contains(said, p.refusal) {
		return ""
	}
	return p.remedy
}

// judge asks the four layers in turn; the first refusal is the answer. Addresses come later.
func (p *PluginHTTP) judge(method string, t egress.Target) egress.Verdict {
	named := p.named(t)
	if v := p.judgeDeclared(method, t, named); !v.Allowed {
		if !named && p.judgeDeclared(method, t, true).Allowed { // the manifest leaves the host open, and nobody named this one
			return p.grantable(NotGranted, "plugin "+p.call.Plugin+" is not granted "+t.Capabilities()[0].String()+
				" by name, and a grant of every host covers public hosts on the usual ports", t.Capabilities())
		}
		v.Sentence = "plugin " + p.call.Plugin + " does not declare this request: " + v.Sentence
		return v
	}
	uses := t.Capabilities()
	if len(uses) == 0 { // no such target is ever made; what could not be named could not be granted
		return refuse(NotGranted, "no grant can name "+t.Host())
	}
	if !slices.ContainsFunc(uses, p.call.Grants.Allows) {
		return p.grantable(NotGranted, "plugin "+p.call.Plugin+" is not granted "+uses[0].String(), uses)
	}
	if !slices.ContainsFunc(uses, p.call.Capabilities.Allows) {
		return p.grantable(NotInCore, "core "+p.call.Core+" does not have "+uses[0].String(), uses)
	}
	if p.call.CoreRules != nil {
		if v := p.call.CoreRules.Check(method, t); !v.Allowed {
			v = refuse(NotInCore, "the egress rules of core "+p.call.Core+" leave this out: "+v.Sentence)
			v.Remedy = "add a rule for it to egress in cores/" + p.call.Core + "/agent.yaml"
			return v
		}
	}
	for _, rules := range p.call.Within {
		if v := rules.Check(method, t); !v.Allowed {
			return refuse(NotInCore, "the egress rules of the core that this one works for leave this out: "+v.Sentence)
		}
	}
	return egress.Verdict{Allowed: true, Reason: egress.Allowed}
}

// grantable is a refusal that a grant would undo.
func (p *PluginHTTP) grantable(r egress.Reason, sentence string, uses []capability.Name) egress.Verdict {
	v := refuse(r, sentence)
	v.Remedy = p.grantLine(uses)
	return v
}

// grantLine is the command that grants the first of uses, also to the core when it has none of them.
func (p *PluginHTTP) grantLine(uses []capability.Name) string {
	core := p.call.Core
	if slices.ContainsFunc(uses, p.call.Capabilities.Allows) {
		core = ""
	}
	return capability.GrantLine(p.call.Plugin, uses[0].String(), core)
}

// judgeDeclared asks the manifest. Where it leaves the host open ("*", only the caller knows), a pattern still
// covers no address, no private name and no port but the scheme's own; a grant that names the host does, because
// then the operator has said so.
func (p *PluginHTTP) judgeDeclared(method string, t egress.Target, named bool) egress.Verdict {
	v := p.declared.Check(method, t)
	if v.Allowed || !named {
		return v
	}
	for _, e := range p.anywhere {
		exact := egress.Rule{Host: t.Host(), Ports: []uint16{t.Port()}, Methods: e.Methods, PathPrefix: e.PathPrefix}
		one, err := egress.NewPolicy(exact)
		if err != nil {
			return v // a host that no rule may name
		}
		if v = one.Check(method, t); v.Allowed {
			return v
		}
	}
	return v
}

// named reports whether a grant other than net.fetch:* covers t.
func (p *PluginHTTP) named(t egress.Target) bool {
	for _, g := range p.call.Grants.Grants() {
		if g.String() != wire.CapNetFetch+":*" && slices.ContainsFunc(t.Capabilities(), g.Matches) {
			return true
		}
	}
	return false
}

// opened are the private origins that are open for t: the operator's configuration opens them for the machine, and a
// grant that names the host for this plugin. A grant of every host is for public addresses, so that no page of the
// Internet leads a plugin that may read it to a service beside it.
func (p *PluginHTTP) opened(t egress.Target) Allowances {
	if p.named(t) {
		return p.gate.private
	}
	return Allowances{}
}

// howToOpen is what the operator would do when t leads to a private address.
func (p *PluginHTTP) howToOpen(t egress.Target) string {
	hint := openForAll(t)
	if !p.named(t) {
		grant := p.grantLine(t.Capabilities())
		if p.gate.private.opened(t) != nil { // for plugins with a grant that names it
			return grant
		}
		hint += ", and run `" + grant + "`"
	}
	return hint
}
