// Package capability owns the names of what an effect may use, the grants that allow names, and the immutable
// snapshot of grants that one turn runs under.
//
// A [Name] is one use: "fs.read", "net.fetch:api.example.com", "secret.bind:MAIL_TOKEN". A [Grant] is a name, or a
// name's prefix with ":*". A [Snapshot] is a set of grants. There are no negative grants: what no grant matches is
// not allowed, and the zero Name, Grant and Snapshot match and allow nothing.
//
// It refuses: a family it does not know, an argument where the family takes none, a bare "*", a wildcard that cuts
// a segment ("fs.*", "net.fetch:api.*"), a wildcard on secret.bind (each secret is named), and hosts that are not
// in the one spelling the URL policy compares (lower case, no trailing dot, no octal IPv4, IPv6 in brackets).
//
// Order: text is parsed once, at the border where it enters (manifest, agent.yaml, command line); everything after
// compares parsed values. Two layers of grant exist, the operator's to a plugin and the core's to a turn; what a
// call may use is their [Snapshot.Intersect]. Nothing here survives a crash: snapshots are rebuilt from the files
// and rows they came from, and [Snapshot.Fingerprint] tells whether the rebuilt one is the same.
package capability
