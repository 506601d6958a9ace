package net

import (
	"slices"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// Explanation is what the layers say of one request, each by itself.
type Explanation struct {
	Target   egress.Target  // zero when the URL is refused
	Parsed   egress.Verdict // of the URL's text
	Declared egress.Verdict // of the manifest, were the place granted by name
	Granted  bool           // to the plugin, be it by net.fetch:*
	InCore   bool           // the core has the capability
	Rules    egress.Verdict // of the core's egress rules; allowed where there are none
	// Judged is all of them together, as [PluginHTTP.Do] would say it. It differs from the rest where a grant of every
	// host does not do.
	Judged egress.Verdict
	// Address is of a host that is an address. A name is allowed here: what it leads to is known when it is resolved.
	Address egress.Verdict
}

// Explain says what would be said of a request, without making it: no name is resolved and nothing is recorded.
func (p *PluginHTTP) Explain(method, url string) Explanation {
	allowed := egress.Verdict{Allowed: true, Reason: egress.Allowed}
	x := Explanation{Rules: allowed, Address: allowed}
	if x.Target, x.Parsed = egress.ParseURL(url); !x.Parsed.Allowed {
		return x
	}
	x.Declared = p.judgeDeclared(method, x.Target, true)
	x.Granted = slices.ContainsFunc(x.Target.Capabilities(), p.call.Grants.Allows)
	x.InCore = slices.ContainsFunc(x.Target.Capabilities(), p.call.Capabilities.Allows)
	if p.call.CoreRules != nil {
		x.Rules = p.call.CoreRules.Check(method, x.Target)
	}
	x.Judged = p.judge(method, x.Target)
	if ip, literal := x.Target.Address(); literal {
		x.Address = egress.CheckAddresses([]egress.Address{{Addr: ip, Class: Classify(ip)}}, p.opened(x.Target).opened(x.Target))
		if x.Address.Reason == egress.PrivateAddress {
			x.Address.Remedy = p.howToOpen(x.Target)
		}
	}
	return x
}
