// Package egress owns the decision whether a request may leave the host for a URL: the one strict URL parser, the
// rules that allow hosts, ports, methods and path prefixes, and the verdict over resolved addresses.
//
// It refuses everything that two URL parsers could read differently: userinfo, backslashes, control characters and
// spaces, hosts that are not in their one spelling (decimal, octal, hex and short IPv4, zone ids, trailing dots,
// names outside ASCII), ports with leading zeros, and dot segments; where a rule holds a path prefix also encoded
// slashes, dots, backslashes and NULs in any number of encodings. A fragment is dropped: it is never sent.
//
// Order of one request: [ParseURL] reads the text, [Policy.Check] asks the rules, the caller resolves the name once
// and classifies every answer, [CheckAddresses] judges all of them together, the caller connects to an address that
// was judged. Every redirect goes through the same steps, its target read by [Target.Resolve]. The zero [Policy]
// and the zero [Target] allow nothing. There is no I/O here and nothing survives a crash.
//
// A capability must be held as well: [Target.Capabilities] names the ones of which one is enough.
package egress
