// Package lease owns the value types of an exclusive, expiring claim and their pure comparisons.
//
// A claim is held by a Host lifetime (a random epoch) through a per-claim random token, and is ordered by a fence
// that only grows. A process id, a host name or a worker's name is never an owner: each can come back after a
// crash and look the same. The rows themselves live in a store; a lease that survives a crash is recovered there
// by its epoch and its expiry.
package lease

import (
	"time"

	"github.com/b3abf3ee/portcullis/host/id"
)

// Claim is one hold on one thing. The zero Claim holds nothing.
type Claim struct {
	Token   id.Lease  // random for each claim
	Epoch   id.Epoch  // the Host lifetime that holds it
	Fence   int64     // grows with each claim of the same thing; a write with an older fence is stale
	Expires time.Time // UTC; at this instant the claim is already over
}

// Expired reports whether the claim is over at now.
func (c Claim) Expired(now time.Time) bool { return c.Token == "" || !now.Before(c.Expires) }

// Same reports whether both name the same claim, whatever their expiry.
func (c Claim) Same(o Claim) bool {
	return c.Token != "" && c.Token == o.Token && c.Epoch == o.Epoch && c.Fence == o.Fence
}
