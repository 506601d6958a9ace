// Package main is a guest whose one tool does something outside that cannot be undone or asked about: it sends one
// request to an address on this machine. What is killed beside it is held to what the other side saw.
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
		Egress:       []sdk.Egress{{Host: "*", Methods: []string{"POST"}, Reason: "The test says where."}},
		Tools: []sdk.ToolSpec{
			sdk.Tool("outside.act", "Act once.", Act, sdk.Needs("net.fetch"), sdk.Recovery(sdk.RecoveryManual), sdk.Approval(sdk.ApprovalAuto)),
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

// main never runs: the host calls the exports of the module.
func main() {}
