package net

import (
	"net/netip"

	"code.dny.dev/ssrf"

	"github.com/b3abf3ee/portcullis/policy/egress"
)

// registries knows the special-purpose registries of IANA. It is only asked, never changed.
var registries = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())

// metadata are addresses that hand out credentials of the machine to whoever reaches them, and the link-local
// ranges they live in. Some are inside ranges that an operator may open, which is why they are asked for first.
var metadata = prefixes(
	"169.254.0.0/16",         // RFC 3927; AWS, Azure, Google, Oracle, DigitalOcean
	"fe80::/10",              // RFC 4291 section 2.5.6
	"100.100.100.200/32",     // Alibaba, inside the shared range
	"192.0.0.192/32",         // Oracle
	"168.63.129.16/32",       // Azure's WireServer, a public number
	"fd00:ec2::/32",          // AWS: 254 instance metadata, 23 pod identity
	"fd20:ce::/32",           // Google
	"fd00:c1::a9fe:a9fe/128", // Oracle
	"fd00:42::42/128",        // Scaleway
	"fd00:a9fe:a9fe::1/128",  // Linode
	"fd00:100::100:200/128",  // Alibaba
)

// private are the ranges that an operator can open for one exact origin.
var private = prefixes(
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
	"100.64.0.0/10",          // RFC 6598
	"127.0.0.0/8", "::1/128", // loopback
	"fc00::/7", // RFC 4193
)

// carriers are IPv6 ranges that lead to an IPv4 address written inside them, so that a special address can hide in
// a number that looks public. The registries refuse them too; this list does not depend on that.
var carriers = prefixes(
	"::/96",           // IPv4-compatible, RFC 4291 section 2.5.5.1
	"::ffff:0:0/96",   // IPv4-mapped; met only when it has a zone, because Unmap comes first
	"::ffff:0:0:0/96", // IPv4-translated, RFC 2765
	"64:ff9b::/96",    // NAT64, RFC 6052
	"64:ff9b:1::/48",  // local NAT64, RFC 8215
	"2001::/32",       // Teredo, RFC 4380
	"2002::/16",       // 6to4, RFC 3056
	"fec0::/10",       // site-local, RFC 3879
)

// Classify says what kind of address ip is. An IPv4-mapped address is the IPv4 address it maps. What is not known
// to be public is not; that takes in addresses with a zone, which no range contains.
func Classify(ip netip.Addr) egress.Class {
	ip = ip.Unmap()
	switch {
	case !ip.IsValid():
		return egress.NonRoutable
	case within(ip, metadata):
		return egress.Metadata
	case within(ip, private):
		return egress.Private
	case within(ip, carriers) || registries.SafeAddr(ip) != nil:
		return egress.NonRoutable
	}
	return egress.Public
}

func within(ip netip.Addr, ranges []netip.Prefix) bool {
	for _, p := range ranges {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}
