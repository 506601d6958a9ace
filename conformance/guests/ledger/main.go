// Package main is a plugin whose tool can say what became of a call: it books an amount once, under the call's id. Tests
// take its answer away and ask.
package main

import (
	"context"
	"errors"
	"strings"

	"github.com/b3abf3ee/portcullis/sdk"
)

func init() {
	sdk.Register(sdk.Plugin{
		ID: "ledger", Version: "1.0.0", License: "Apache-2.0", Summary: "Books amounts.",
		Capabilities: []sdk.Capability{{Name: "kv", Reason: "Keeps what was booked."}},
		Limits:       sdk.Limits{MemoryBytes: 64 << 20, DeadlineMS: 20_000},
		Tools: []sdk.ToolSpec{
			sdk.Tool("ledger.book", "Book an amount. Never book the same thing twice.", Book,
				sdk.Needs("kv"), sdk.Approval(sdk.ApprovalAuto), sdk.Reconcile(Booked)),
		},
	})
}

// main never runs: the host calls the exports of the module.
func main() {}

// Entry is what is booked. Some words in For make the reconciliation do what none should, for tests.
type Entry struct {
	For    string `json:"for" minLength:"1"`
	Amount int    `json:"amount"`
}

// Receipt is where it stands.
type Receipt struct {
	Entry string `json:"entry"`
}

// Book writes the entry under the call's id, in one transaction: after a crash it is there or it is not.
func Book(ctx context.Context, in Entry, h sdk.Host) (Receipt, error) {
	key := "entry/" + sdk.CallID(ctx)
	_, err := h.KV().Set(key, []byte(in.For))
	return Receipt{key}, err
}

// Booked looks for the entry.
func Booked(ctx context.Context, in Entry, h sdk.Host) (sdk.Reconciliation, error) {
	key := "entry/" + sdk.CallID(ctx)
	switch in.For {
	case "write":
		_, err := h.KV().Set(key, []byte(in.For))
		return sdk.Reconciliation{State: sdk.Committed, Reference: key}, err
	case "lie":
		return sdk.Reconciliation{State: "booked"}, nil
	case "fault":
		return sdk.Reconciliation{}, sdk.Errorf(sdk.Unavailable, "the book is closed")
	case "panic":
		panic("the book is on fire")
	case "long":
		return sdk.Reconciliation{State: sdk.Committed, Reference: strings.Repeat("x", 1000)}, nil
	case "shrug":
		return sdk.Reconciliation{State: sdk.Unknown}, nil
	}
	_, _, err := h.KV().Get(key)
	switch {
	case errors.Is(err, sdk.NotFound):
		return sdk.Reconciliation{State: sdk.NotCommitted}, nil
	case err != nil:
		return sdk.Reconciliation{}, err
	}
	return sdk.Reconciliation{State: sdk.Committed, Reference: key}, nil
}
