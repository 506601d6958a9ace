package lease_test

import (
	"testing"
	"time"

	"github.com/b3abf3ee/portcullis/host/lease"
)

func TestClaimEndsAtItsExpiryNotAfter(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	c := lease.Claim{Token: "lse_a", Epoch: "epo_a", Fence: 3, Expires: at}
	if c.Expired(at.Add(-time.Nanosecond)) || !c.Expired(at) {
		t.Fatal("a claim must hold until its expiry and not at it")
	}
	if !(lease.Claim{Expires: at.Add(time.Hour)}).Expired(at) {
		t.Fatal("the zero claim holds something")
	}
}

func TestAnotherFenceIsAnotherClaim(t *testing.T) {
	c := lease.Claim{Token: "lse_a", Epoch: "epo_a", Fence: 3}
	renewed := c
	renewed.Expires = time.Unix(9, 0)
	older := c
	older.Fence = 2
	if !c.Same(renewed) || c.Same(older) || (lease.Claim{}).Same(lease.Claim{}) {
		t.Fatal("Same must compare token, epoch and fence, and never match nobody")
	}
}
