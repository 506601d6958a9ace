// Package main is a guest whose tools do something outside that cannot be undone: they send one request to an address on
// this machine. What one of them did cannot be asked about, and what the other did can. What is killed beside it is held to
// what the other side saw.
package main

import (
	"context"

	"github.com/b3abf3ee/portcullis/sdk"
)

func init() {
	sdk.Register(sdk.Plugin{
		ID: "outside", Version: "1.0.0", License: "Apache-2.0",
		Summary:      "Acts outside, once for each call.",
		Capabilities: []sdk.Capability{{Name: "net.fetch", Reason: "Acting is one request."}},
		Egress:       []sdk.Egress{{Host: "*", Methods: []string{"GET", "POST"}, Reason: "The test says where."}},
		Tools: []sdk.ToolSpec{
			sdk.Tool("outside.act", "Act once.", Act, sdk.Needs("net.fetch"), sdk.Recovery(sdk.RecoveryManual), sdk.Approval(sdk.ApprovalAuto)),
			sdk.Tool("outside.book", "Act once, where it can be looked at.", Act, sdk.Needs("net.fetch"), sdk.Reconcile(Booked), sdk.Approval(sdk.ApprovalAuto)),
		},
	})
}

// Where says what to call.
type Where struct {
	URL string `json:"url"`
}

// Done is that it was called.
type Done struct {
	Status int `json:"status"`
}

// Act sends the request.
func Act(ctx context.Context, in Where, h sdk.Host) (Done, error) {
	resp, err := h.Do(ctx, &sdk.Request{Method: "POST", URL: in.URL})
	if err != nil {
		return Done{}, err
	}
	return Done{Status: resp.Status}, nil
}

// Booked asks the other side whether the request came.
func Booked(ctx context.Context, in Where, h sdk.Host) (sdk.Reconciliation, error) {
	resp, err := h.Do(ctx, &sdk.Request{Method: "GET", URL: in.URL})
	switch {
	case err != nil:
		return sdk.Reconciliation{}, err
	case resp.Status == 200:
		return sdk.Reconciliation{State: sdk.Committed, Reference: in.URL}, nil
	case resp.Status == 404:
		return sdk.Reconciliation{State: sdk.NotCommitted}, nil
	}
	return sdk.Reconciliation{State: sdk.Unknown}, nil
}

// main never runs: the host calls the exports of the module.
func main() {}
