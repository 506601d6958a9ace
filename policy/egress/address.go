package egress

import (
	"net/netip"
	"slices"
)

// Class is what kind of address a resolver's answer is. The caller classifies; this package decides. Any other
// value counts as NonRoutable.
type Class string

// The classes.
const (
	Public      Class = "public"
	Private     Class = "private"      // RFC 1918, loopback, shared, unique local: an operator may open ranges
	Metadata    Class = "metadata"     // link-local and metadata services: never opened
	NonRoutable Class = "non_routable" // every other special range: never opened
)

// Address is one classified answer.
type Address struct {
	Addr  netip.Addr
	Class Class
}

// CheckAddresses judges all answers for one name together: a single bad answer refuses the name, so that a mixed
// answer cannot be retried until the bad address is picked. opened are the private ranges that the operator opened
// for this request; a range opens only what lies wholly in it and is of class Private.
func CheckAddresses(answers []Address, opened []netip.Prefix) Verdict {
	if len(answers) == 0 {
		return refuse(DNSNoAddresses, "the name has no addresses")
	}
	for _, a := range answers {
		if !a.Addr.IsValid() || a.Addr.Zone() != "" {
			return refuse(DNSInvalidAddress, "the resolver gave something that is not an address")
		}
		ip := a.Addr.Unmap()
		switch a.Class {
		case Public:
		case Metadata:
			return refuse(MetadataAddress, "the name leads to "+ip.String()+", a link-local or metadata address")
		case Private:
			if !slices.ContainsFunc(opened, func(p netip.Prefix) bool { return p.Contains(ip) }) {
				return refuse(PrivateAddress, "the name leads to the private address "+ip.String()+", which is not open to this request")
			}
		default:
			return refuse(NonRoutableAddress, "the name leads to "+ip.String()+", which is not a public address")
		}
	}
	return allow()
}
