package net

import (
	"context"
	"errors"
	stdnet "net"
	"net/netip"
	"slices"
	"strings"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// maxAnswers is how many addresses of one name are looked at; a name with more is refused, because all of them must
// be judged.
const maxAnswers = 64

// resolve finds and judges the addresses of t. Addresses come back with a refusal too, for the audit. An error is
// the context's: it ended first.
func (g *Gate) resolve(ctx context.Context, t egress.Target, open Allowances) ([]netip.Addr, egress.Verdict, error) {
	found, v, err := g.lookup(ctx, t)
	if err != nil || !v.Allowed {
		return nil, v, err
	}
	answers := make([]egress.Address, len(found))
	for i, ip := range found {
		answers[i] = egress.Address{Addr: ip, Class: Classify(ip)}
	}
	return found, egress.CheckAddresses(answers, open.opened(t)), nil
}

// lookup asks the resolver, once. A host that is an address is its own answer.
func (g *Gate) lookup(ctx context.Context, t egress.Target) ([]netip.Addr, egress.Verdict, error) {
	if ip, literal := t.Address(); literal {
		return []netip.Addr{ip}, egress.Verdict{Allowed: true}, nil
	}
	name := t.Host()
	if strings.Contains(name, ".") { // absolute, so that no search domain is tried; names without one stand in the machine's hosts file
		name += "."
	}
	found, err := g.resolver.LookupNetIP(ctx, "ip", name)
	switch {
	case ctx.Err() != nil:
		return nil, egress.Verdict{}, context.Cause(ctx)
	case missing(err) || err == nil && len(found) == 0:
		return nil, refuse(egress.DNSNoAddresses, "the name has no addresses"), nil
	case err != nil:
		return nil, refuse(egress.DNSFailure, "the name could not be resolved"), nil
	case len(found) > maxAnswers:
		return nil, refuse(egress.DNSInvalidAddress, "the name has more addresses than are looked at"), nil
	}
	found = slices.Clone(found)
	for i, ip := range found {
		found[i] = ip.Unmap()
	}
	return slices.Compact(found), egress.Verdict{Allowed: true}, nil
}

func missing(err error) bool {
	var dns *stdnet.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}
